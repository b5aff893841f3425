"""Templates drafted by a model: what it is asked, and what its answers say. A person proofreads the outcome."""
