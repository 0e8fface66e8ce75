"""Training and evaluation by verl, and the tiny models that need no weights from elsewhere."""

import os

# Threads that spin while they wait for work slow everything else on a small machine many times over. Read when torch is
# loaded, so it is set before any module here loads it; a user's own choice stands.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
