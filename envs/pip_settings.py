"""What pip is configured with, as the environment variables that tell uv the same.

uv reads neither pip's files nor its PIP_* variables, so a laboratory's mirror, a folder of wheels or a certificate that
pip is given would be lost on it.
"""

from __future__ import annotations

import ast
import subprocess
import sys

# what wins stands first: PIP_* variables, then the section of the command, then the general one
SECTIONS = (":env:", "install", "global")
SEVERAL = {  # settings that hold several values, and what stands between them in uv's variable
    "extra-index-url": ("UV_INDEX", " "),
    "find-links": ("UV_FIND_LINKS", ","),
    "trusted-host": ("UV_INSECURE_HOST", " "),
}
SINGLE = {
    "index-url": "UV_DEFAULT_INDEX",
    "cert": "SSL_CERT_FILE",
    "client-cert": "SSL_CLIENT_CERT",
    "proxy": "ALL_PROXY",
    "timeout": "UV_HTTP_TIMEOUT",
    "default-timeout": "UV_HTTP_TIMEOUT",
}


def pip_settings() -> dict[str, str]:
    """pip's settings by name, as pip itself would use them for an installation."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    listed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    settings = {}
    for section in reversed(SECTIONS):
        for line in listed.splitlines():
            key, _, value = line.partition("=")
            if key.startswith(f"{section}."):
                settings[key.removeprefix(f"{section}.")] = str(ast.literal_eval(value))
    return settings


def uv_variables(settings: dict[str, str]) -> dict[str, str]:
    """uv's variables for pip's settings; what uv does not know is left out.

    pip takes the best version that any index has; uv by itself stays with the first index that has the package at all.
    """
    variables = {"UV_INDEX_STRATEGY": "unsafe-best-match"}
    for name, (variable, between) in SEVERAL.items():
        if name in settings:
            variables[variable] = between.join(settings[name].split())
    for name, variable in SINGLE.items():
        if name in settings:
            variables[variable] = settings[name]
    return variables
