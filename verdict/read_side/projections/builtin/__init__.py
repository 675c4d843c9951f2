"""The projections that each application has: archive, outcomes, states, rejections."""
