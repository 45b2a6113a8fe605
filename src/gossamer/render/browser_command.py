"""The command line and the environment of a browser without a network.

Interception alone lets WebSocket, WebRTC, popups and service workers out. Every switch here closes one way, below the
empty network namespace, which closes all. `tests/flow/test_render_isolation.py` opens and closes them one by one.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from gossamer.render.options import RenderOptions

_HEAP_MEBIBYTES = 384  # of the JavaScript heap of a tab; buffers are outside it, under RLIMIT_DATA
_YOUNG_MEBIBYTES = 2  # of its new objects, an eighth of the default: saves 14 MB a tab
# Of old objects, before the first full collection. Without it four tabs keep 160 MB of garbage of the pages before, and
# with 8 MiB they keep 15 MB.
_FIRST_COLLECTION_MEBIBYTES = 4
_SMALL_SHARED_MEMORY = 512 << 20  # bytes of /dev/shm, below which the browser uses files in its HOME; Docker has 64 MiB
JS_FLAGS = (
    f"--max-old-space-size={_HEAP_MEBIBYTES}",
    f"--max-semi-space-size={_YOUNG_MEBIBYTES}",
    f"--initial-old-space-size={_FIRST_COLLECTION_MEBIBYTES}",
)

# The browser connects to nothing.
NETWORK_SWITCHES = (
    "--host-resolver-rules=MAP * ~NOTFOUND",  # no DNS
    "--proxy-server=http://127.0.0.1:9",  # a proxy that nobody runs ...
    "--proxy-bypass-list=<-loopback>",  # ... for loopback addresses too
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",  # without it WebRTC sends UDP
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",  # the same; the full browser knows only this name
    "--disable-quic",
    "--no-pings",
    "--dns-prefetch-disable",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-domain-reliability",
    "--disable-sync",
    "--block-new-web-contents",  # popups
)
# Features that fetch without being asked, or that keep pages and processes alive.
DISABLED_FEATURES = (
    "HttpsUpgrades", "HttpsFirstBalancedModeAutoEnable", "Prerender2", "PreconnectToSearch", "OptimizationHints",
    "MediaRouter", "DialMediaRouteProvider", "Translate", "BackForwardCache", "ProcessPerSiteUpToMainFrameThreshold",
    "IsolateOrigins", "site-per-process", "SpareRendererForSitePerProcess",
)  # fmt: skip
QUIET_SWITCHES = (
    "--headless",
    "--no-startup-window",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-extensions",
    "--disable-default-apps",
    "--disable-breakpad",
    "--disable-crash-reporter",
    "--disable-gpu",
    "--disable-software-rasterizer",  # which replaces a GPU for WebGL, and takes 20 MB
    "--disable-3d-apis",
    "--disable-speech-api",
    "--disable-notifications",
    "--deny-permission-prompts",
    "--disable-background-timer-throttling",
    "--disable-renderer-backgrounding",
    "--disable-backgrounding-occluded-windows",
    "--disable-hang-monitor",
    "--log-level=3",  # only what ends it; pages write to the log too
    "--hide-scrollbars",
    "--mute-audio",
    "--use-mock-keychain",
    "--password-store=basic",
)


def browser_command(options: RenderOptions, home: Path, *, sandbox: bool) -> list[str]:
    """Return the command that starts a browser, which then waits for commands at its descriptors 3 and 4."""
    command = [
        options.browser,
        "--remote-debugging-pipe",
        f"--user-data-dir={home}",
        f"--js-flags={','.join(JS_FLAGS)}",
        f"--disable-features={','.join(DISABLED_FEATURES)}",
        "--enable-features=NetworkServiceInProcess2",  # it has nothing to do, and a process of its own takes 20 MB
        # Frames share the process of their page, which takes 30 MB. Pages of two hosts never share one, because each
        # host has its own browser context.
        "--disable-site-isolation-trials",
        *NETWORK_SWITCHES,
        *QUIET_SWITCHES,
    ]
    if options.user_agent:
        command.append(f"--user-agent={options.user_agent}")
    if _shared_memory_is_small():
        command.append("--disable-dev-shm-usage")
    if not sandbox:
        command.append("--no-sandbox")
    return command


def browser_environment(home: Path) -> dict[str, str]:
    """Return the whole environment of a browser: nothing of ours, so no secret and no proxy."""
    return {
        "HOME": str(home),
        "TMPDIR": str(home),
        "XDG_RUNTIME_DIR": str(home),
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "DBUS_SESSION_BUS_ADDRESS": "disabled:",
        "DBUS_SYSTEM_BUS_ADDRESS": "disabled:",
    }


def _shared_memory_is_small() -> bool:
    try:
        shared = os.statvfs("/dev/shm")  # noqa: S108 - not a temporary file: the size of the system's shared memory
    except OSError:
        return True
    return shared.f_bavail * shared.f_frsize < _SMALL_SHARED_MEMORY
