"""Scripts that run in environments of their own, which betabo is not installed in."""
