"""Settings shared by all tests."""

from hypothesis import settings

settings.register_profile("default", deadline=None)  # the machine may be busy; speed is measured in benchmarks/
settings.register_profile("thorough", deadline=None, max_examples=2000)
settings.load_profile("default")
