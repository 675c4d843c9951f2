"""For tests of an application: its rules, read models and policies.

Nothing here needs a test framework: what is not as expected is an `AssertionError`.
"""

from verdict.model.policy import Asked
from verdict.model.reason import Reason
from verdict.testing.given import Given, given
from verdict.testing.histories import Happened, happened

__all__ = ["Asked", "Given", "Happened", "Reason", "given", "happened"]
