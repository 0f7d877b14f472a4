"""Tests of `seconder.contrib` and of the example applications."""
