"""EIC-LKE: many test facts in one sequence, and a control in which they cannot see each other."""
