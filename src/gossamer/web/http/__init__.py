"""What all routes share: middleware, sessions, errors, templates, parameters, and the description of the API.

In comes a request; out goes either a refusal or a response with headers, tag and compression. Modules:

- `security`: names, sizes, rates, the token, and the security headers (`SecurityMiddleware`, `AccessRules`)
- `client_limits`: what one client may take, and trusted proxies (`client_of`, `TrustedProxies`)
- `protocol`: connections with those limits (`LimitedProtocol`, `ConnectionRegister`)
- `shares`: running requests of each client (`ShareMiddleware`)
- `inert_html`: stored pages that open no connection
- `compression`: ETags, zstd and gzip (`CompressionMiddleware`), and `JsonResponse`
- `sessions`: open stores for requests (`SessionPool`, `ReadSession`)
- `bodies`: long bodies, sent in pieces
- `problems`: errors as problem+json or as a page (`Problem`, `NotFound`, `RequestRefused`)
- `templates`: HTML from Jinja (`Templates`, `html_page`), and the URLs of built scripts
- `parameters`: query parameters that several routes take
- `openapi`, `api_examples`: the OpenAPI document, its examples, and the page that shows it
- `health`: `/healthz`, `/metrics`, and the counts of requests
"""
