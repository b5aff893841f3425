"""The verbs: one module each, with its flags (`add_arguments`) and what it reads, does and writes (`run`)."""
