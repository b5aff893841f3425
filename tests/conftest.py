"""What holds for all tests: how long one takes says how busy the machine is, and nothing of what is tested."""

from hypothesis import HealthCheck, settings

# An example that fails is printed so that it can be tried again: the next run draws others.
settings.register_profile("almanac", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.load_profile("almanac")
