"""Stands for the project's own package that kernels import."""
