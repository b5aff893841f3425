"""Models: loading checkpoints and answering requests. This package knows the kinds of request and no paper."""
