"""What `verdict new` writes: the files of an application, an aggregate, a projection."""
