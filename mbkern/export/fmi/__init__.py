"""The C sources of an FMU around an exported library (model.c, fmi2.c, fmi3.c), and its description in XML."""
