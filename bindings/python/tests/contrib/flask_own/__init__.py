"""Runs the own tests of Flask-Login and Flask-Security with the adapters."""
