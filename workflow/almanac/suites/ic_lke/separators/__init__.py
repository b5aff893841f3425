"""What stands between subject and object: a space, words of templates, or the marks of the released code."""
