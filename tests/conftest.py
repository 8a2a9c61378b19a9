"""Settings shared by all tests."""

from hypothesis import HealthCheck, settings

# The first example of a property compiles kernels, so per-example deadlines mean nothing; derandomised runs
# keep a red build reproducible.
settings.register_profile(
    "mbkern",
    deadline=None,
    derandomize=True,
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("mbkern")
