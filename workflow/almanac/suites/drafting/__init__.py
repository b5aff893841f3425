"""Templates drafted by a model: the requests, and how its answers are read. A person proofreads the result."""
