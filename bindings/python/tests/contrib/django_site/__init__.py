"""A Django site for the tests of :mod:`seconder.contrib.django`, which run in a process of their own
because Django has one set of settings per process."""
