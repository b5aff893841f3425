"""The verbs: one module each, with its flags (`add_arguments`) and what it does (`run`: exit status, or none for 0)."""
