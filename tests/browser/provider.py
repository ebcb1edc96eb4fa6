"""A sign-in service for the tests: OpenID Connect on loopback, which takes everyone's word."""

import json
import secrets
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

CLIENT = "evenreach-test"


class Provider:
    """Answers what a client asks in the authorization code flow, and counts who signed in."""

    def __init__(self) -> None:
        self.key = RSAKey.generate_key(2048, {"kid": "one", "use": "sig", "alg": "RS256"})
        self.nonces: dict[str, str] = {}
        self.signed_in = 0
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked = urlsplit(self.path)
                query = {name: values[0] for name, values in parse_qs(asked.query).items()}
                if asked.path == "/authorize":
                    self.send_response(302)
                    self.send_header("Location", provider.approve(query))
                    self.end_headers()
                    return
                self.answer(provider.metadata() if "well-known" in asked.path else provider.keys())

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                self.answer(provider.token(parse_qs(body)["code"][0]))

            def answer(self, content: dict[str, Any]) -> None:
                text = json.dumps(content).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def metadata(self) -> dict[str, Any]:
        return {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "jwks_uri": f"{self.url}/keys",
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "code_challenge_methods_supported": ["S256"],
        }

    def keys(self) -> dict[str, Any]:
        return {"keys": [self.key.as_dict(private=False)]}

    def approve(self, query: dict[str, str]) -> str:
        code = secrets.token_urlsafe(8)
        self.nonces[code] = query["nonce"]
        return f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}"

    def token(self, code: str) -> dict[str, Any]:
        now = int(time.time())
        claims = {
            "iss": self.url,
            "aud": CLIENT,
            "sub": "planner",
            "email": "planner@city.example",
            "iat": now,
            "exp": now + 600,
            "nonce": self.nonces.pop(code),
        }
        self.signed_in += 1
        signed = jwt.encode({"alg": "RS256", "kid": "one"}, claims, self.key)
        return {"access_token": "x", "token_type": "Bearer", "expires_in": 600, "id_token": signed}
