"""The search space: the only place that knows both the user's units and the unit cube."""

from betabo.space.parameters import Categorical, Fixed, Float, Int, Parameter, parameter_from_json
from betabo.space.profiles import Profile
from betabo.space.space import Space, SpaceLike, as_space

__all__ = [
    "Categorical",
    "Fixed",
    "Float",
    "Int",
    "Parameter",
    "Profile",
    "Space",
    "SpaceLike",
    "as_space",
    "parameter_from_json",
]
