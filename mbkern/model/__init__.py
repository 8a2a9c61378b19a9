"""What the machine is: joints, drives, bodies, and the immutable model made of them."""
