"""What leaves for others because something happened: messages on topics of theirs, and files.

None of it is ever rebuilt: what was sent was sent.
"""
