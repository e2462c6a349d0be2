"""The exceptions of asynclab, all under one base class."""


class AsynclabError(Exception):
    """Base class of every error that asynclab raises itself."""


class UnsupportedTargetError(AsynclabError, TypeError):
    """Something was given to wait for that no loaded framework can wait for."""
