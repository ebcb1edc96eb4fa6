"""What is added to every answer of the server: security headers, and the way back after signing in."""

from http.cookies import SimpleCookie
from urllib.parse import quote, unquote

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

CARTO = "https://*.cartocdn.com https://*.basemaps.cartocdn.com"
FIXED = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # a link may name an upload: it is nobody else's business
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
    "Cross-Origin-Opener-Policy": "same-origin",
}
CODE = ("text/javascript", "text/css")
FOR_GOOD = "private, max-age=31536000, immutable"  # its address is made from its content
COOKIE = "evenreach_asked_for"
MINUTES = 15
LONGEST = 1500  # characters of a link that is kept over signing in


def content_policy(*, offline: bool) -> str:
    """Where a page may load from: this server, and the street map unless it is switched off.

    Streamlit writes styles into the page and its map compiles expressions, hence the two unsafe words.
    """
    tiles = "" if offline else f" {CARTO}"
    return "; ".join(
        (
            "default-src 'self'",
            "script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:",
            "style-src 'self' 'unsafe-inline'",
            f"img-src 'self' data: blob:{tiles}",
            f"font-src 'self' data:{tiles}",
            f"connect-src 'self' data: blob:{tiles}",
            "worker-src 'self' blob:",
            "object-src 'none'",
            "base-uri 'self'",
            "form-action 'self'",
            "frame-ancestors 'self'",
        )
    )


class SecurityHeaders:
    """Adds the headers to every HTTP answer; the live map's code may be kept by browsers, what it shows may not."""

    def __init__(self, app: ASGIApp, *, offline: bool) -> None:
        self.app = app
        self.headers = {**FIXED, "Content-Security-Policy": content_policy(offline=offline)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and add the headers to its answer."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def dressed(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self.headers.items():
                    headers.setdefault(name, value)
                if "/media/" in scope["path"] and headers.get("content-type", "").startswith(CODE):
                    headers.setdefault("Cache-Control", FOR_GOOD)
                if "/api/" in scope["path"]:
                    headers.setdefault("Cache-Control", "no-store")  # it may hold where people live
            await send(message)

        await self.app(scope, receive, dressed)


def safe_link(text: str) -> str | None:
    """A link within this app, or None: never one that leads elsewhere.

    Examples
    --------
    >>> safe_link("/compare?k=9"), safe_link("//elsewhere.example"), safe_link("https://elsewhere.example")
    ('/compare?k=9', None, None)
    """
    plain = text.isascii() and text.isprintable() and " " not in text and len(text) <= LONGEST
    return text if plain and text.startswith("/") and not text.startswith("//") and "\\" not in text else None


class AskedForLink:
    """Keeps the link that was asked for while its visitor signs in, and leads back to it.

    The sign-in returns to ``/`` and forgets the rest: a short-lived cookie remembers it.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; note the link, or lead back to it."""
        if scope["type"] != "http" or scope["method"] != "GET":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        path = scope["path"]
        asked = path + (f"?{scope['query_string'].decode('latin-1')}" if scope["query_string"] else "")
        returns = path.endswith("/oauth2callback")
        document = not returns and not path.startswith("/auth/") and "text/html" in headers.get("accept", "")
        kept = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
        back = safe_link(unquote(kept.value)) if kept else None

        async def led(message: Message) -> None:
            if message["type"] == "http.response.start":
                answer = MutableHeaders(scope=message)
                if returns and back and "location" in answer:
                    answer["location"] = back
                    answer.append("set-cookie", _cookie("", 0))
                elif document and safe_link(asked) and asked != "/":
                    answer.append("set-cookie", _cookie(quote(asked, safe=""), 60 * MINUTES))
            await send(message)

        await self.app(scope, receive, led)


def _cookie(value: str, seconds: int) -> str:
    return f"{COOKIE}={value}; Max-Age={seconds}; Path=/; HttpOnly; SameSite=Lax"
