"""Another user than the owner of the files. Root becomes `nobody`; who is not root stays himself, and loses the rights instead."""

import os
import pwd
import stat

NOBODY = pwd.getpwnam("nobody")


def is_root():
    return os.geteuid() == 0


def stranger():
    """What goes before a command so that it runs as somebody who is not the files' owner; nothing for who is not root."""
    if not is_root():
        return []
    return ["setpriv", f"--reuid={NOBODY.pw_uid}", f"--regid={NOBODY.pw_gid}", "--clear-groups"]


def let_through(path):
    """Lets everybody pass through the test's own directories to `path`."""
    for parent in [path, *path.parents]:
        if parent.parent == parent or parent.stat().st_mode & stat.S_ISVTX or parent.stat().st_uid != os.geteuid():
            return
        parent.chmod(parent.stat().st_mode | stat.S_IXOTH | stat.S_IROTH)


def owners(directory):
    """The user ids of the files in a directory."""
    return {p.stat().st_uid for p in directory.iterdir()}
