"""Head-to-Tail: do models know less about less popular subjects (Sun et al.)?"""
