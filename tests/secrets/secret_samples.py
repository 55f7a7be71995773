"""Secrets of many providers and text that only looks like them, put together at run time.

This file contains no secret: each is made of a prefix and characters of a seeded generator, so that no scanner
stops the repository. Providers are in two halves: patterns were written from `LISTED` only; `HELD_OUT` has no pattern
and must be found by names, headers, addresses, options and the generic form.
"""

import base64
import random
import re
import string
from collections.abc import Iterator

_LOWER = string.ascii_lowercase + string.digits
_MIXED = string.ascii_letters + string.digits
_UPPER = string.ascii_uppercase + string.digits
_HEX = "0123456789abcdef"
_LONG = re.compile(r"[A-Za-z0-9]{20,}")
_made = random.Random(20240615)


def _some(count: int, alphabet: str = _MIXED) -> str:
    """Random characters with at least one of each kind that the alphabet has."""
    while True:
        text = "".join(_made.choice(alphabet) for _ in range(count))
        if any(c.isdigit() for c in text) and any(c.isalpha() for c in text):
            return text


def _uuid() -> str:
    return "-".join(_some(size, _HEX) for size in (8, 4, 4, 4, 12))


def _jwt(parts: int) -> str:
    head = base64.urlsafe_b64encode(b'{"alg":"RSA-OAEP","enc":"A256GCM"}').decode().rstrip("=")
    if parts == 3:
        return f"{head}.eyJ{_some(40)}.{_some(43)}"
    return ".".join((head, _some(80), _some(16), _some(60), _some(22)))


# provider: (how its documentation writes it, the key)
LISTED: dict[str, tuple[str, str]] = {
    "OpenAI": ("OPENAI_API_KEY={}", "sk-" + "proj-" + _some(48)),
    "OpenAI old": ("openai.api_key = '{}'", "sk-" + _some(48)),
    "Anthropic": ("x-api-key: {}", "sk-" + "ant-api03-" + _some(80)),
    "OpenRouter": ("key is {} ok", "sk-" + "or-v1-" + _some(64, _HEX)),
    "GitHub": ("git clone https://{}@github.com/a/b", "gh" + "p_" + _some(36)),
    "GitHub fine-grained": (
        "gh auth login --with-token <<< {}",
        "github" + "_pat_" + _some(22) + "_" + _some(59),
    ),
    "GitHub app": ("token {}", "gh" + "s_" + _some(36)),
    "GitLab": ("PRIVATE-TOKEN: {}", "gl" + "pat-" + _some(20)),
    "Slack": ("slack: {}", "xox" + "b-" + _some(12, string.digits + "a") + "-" + _some(24)),
    "Slack app": ("SLACK_APP={}", "xapp" + "-1-A" + _some(10, _UPPER) + "-" + _some(12, _LOWER)),
    "Slack webhook": (
        "curl -d '{{}}' {}",
        "https://hooks.slack.com/services/T0" + "ABCD/B0EFGH/" + _some(24),
    ),
    "Discord webhook": ("hook {}", "https://discord.com/api/web" + "hooks/112233445566778899/" + _some(68)),
    "AWS": ("aws_access_key_id = {}", "AK" + "IA" + _some(16, _UPPER)),
    "AWS secret": ("aws_secret_access_key = {}", _some(20) + "/" + _some(19)),
    "Google": ("https://maps.example.com/x?key={}", "AI" + "za" + _some(35)),
    "Google OAuth": ("client: {}", "GOC" + "SPX-" + _some(28)),
    "Google access": ("bearer is {}", "ya" + "29." + _some(60)),
    "Hugging Face": ("login(token='{}')", "h" + "f_" + _some(34)),
    "npm": ("//registry.npmjs.org/:_authToken={}", "np" + "m_" + _some(36)),
    "Replicate": ("{}", "r" + "8_" + _some(37)),
    "Stripe": ('stripe.api_key = "{}"', "sk" + "_live_" + _some(24)),
    "Stripe webhook": ("{}", "wh" + "sec_" + _some(32)),
    "Groq": ("GROQ: {}", "gs" + "k_" + _some(52)),
    "DigitalOcean": ("doctl auth init -t {}", "dop" + "_v1_" + _some(64, _HEX)),
    "Shopify": ("{}", "shp" + "at_" + _some(32, _HEX)),
    "Docker Hub": ("docker login -u joe -p {}", "dckr" + "_pat_" + _some(27)),
    "Linear": ("{}", "lin" + "_api_" + _some(40)),
    "NVIDIA": ("{}", "nv" + "api-" + _some(64)),
    "xAI": ("{}", "xa" + "i-" + _some(80)),
    "Perplexity": ("{}", "ppl" + "x-" + _some(48)),
    "Tavily": ("{}", "tv" + "ly-" + _some(32)),
    "PyPI": ("password = {}", "py" + "pi-AgEIcHlwaS5vcmc" + _some(60)),
    "SendGrid": ("{}", "S" + "G." + _some(22) + "." + _some(43)),
    "age": ("{}", "AGE-SECRET-" + "KEY-1" + _some(58, _UPPER)),
    "JWT": ("id_token: {}", _jwt(3)),
    "JWE": ("cookie {} set", _jwt(5)),
    "Vault": ("VAULT_TOKEN={}", "hv" + "s." + _some(90)),
    "Telegram": ("https://api.telegram.org/bot{}/getMe", "123456789:AA" + _some(33)),
    "Plimsoll": ("the key {} was made", "pl" + "im-" + _some(12, _HEX) + "-" + _some(43)),
    "Databricks": ("DATABRICKS_TOKEN={}", "da" + "pi" + _some(32, _HEX)),
    "Mailgun": ("MAILGUN_API_KEY={}", "key" + "-" + _some(32, _HEX)),
    "Square": ("SQUARE_ACCESS_TOKEN={}", "EAAA" + _some(60)),
    "New Relic": ("NEW_RELIC_LICENSE_KEY={}", "NRAK-" + _some(27, _UPPER)),
    "Bitbucket": ("curl -u joe:{} https://api.bitbucket.org", "ATBB" + _some(32)),
    "Postman": ("X-Api-Key: {}", "PM" + "AK-" + _some(24, _HEX) + "-" + _some(34, _HEX)),
    "Dropbox": ("DROPBOX_TOKEN={}", "sl." + _some(130)),
    "Twitter": ("Authorization: Bearer {}", "AAAAAAAAAAAAAAAAAAAAA" + _some(60)),
    "Artifactory": ("X-JFrog-Art-Api-Key: {}", "AKC" + "p" + _some(69)),
    "HubSpot": ("HUBSPOT_ACCESS_TOKEN={}", "pat-na1-" + _uuid()),
}
HELD_OUT: dict[str, tuple[str, str]] = {
    "Mailchimp": ('"mailchimp_api_key": "{}"', _some(32, _HEX) + "-us12"),
    "Twilio": ("TWILIO_AUTH_TOKEN={}", _some(32, _HEX)),
    "Cloudflare": ("CF_API_TOKEN={}", _some(40)),
    "Heroku": ("HEROKU_API_KEY={}", _uuid()),
    "Datadog": ("DD-API-KEY: {}", _some(32, _HEX)),
    "Grafana": ("Authorization: Bearer {}", "gl" + "sa_" + _some(32) + "_" + _some(8, _HEX)),
    "Grafana bare": ("use {} there", "gl" + "sa_" + _some(32) + "_" + _some(8, _HEX)),
    "Sentry": ("SENTRY_AUTH_TOKEN={}", "sntrys_" + _some(60)),
    "Sentry DSN": ("SENTRY_DSN={}", "https://" + _some(32, _HEX) + "@o1.ingest.sentry.io/2"),
    "Atlassian": ("jira: api_token={}", "ATATT3x" + _some(180)),
    "Asana": ('"asana_token": "{}"', "1/" + _some(16, string.digits + "a") + ":" + _some(32, _HEX)),
    "Airtable": ("AIRTABLE_API_KEY={}", "pat" + _some(14) + "." + _some(64, _HEX)),
    "Notion": ("NOTION_TOKEN={}", "ntn_" + _some(46)),
    "Notion bare": ("here: {}", "ntn_" + _some(46)),
    "Figma": ("X-Figma-Token: {}", "figd_" + _some(40)),
    "Doppler": ("DOPPLER_TOKEN={}", "dp.pt." + _some(43)),
    "Pulumi": ("PULUMI_ACCESS_TOKEN={}", "pul-" + _some(40, _HEX)),
    "Terraform": ('token = "{}"', _some(14) + ".atlas" + "v1." + _some(67)),
    "Fly": ("FLY_API_TOKEN={}", "fo1_" + _some(43)),
    "Netlify": ("NETLIFY_AUTH_TOKEN={}", "nfp_" + _some(36)),
    "Netlify bare": ("{}", "nfp_" + _some(36)),
    "Vercel": ("vercel --token {}", _some(24)),
    "Supabase": ("SUPABASE_ACCESS_TOKEN={}", "sbp_" + _some(40, _HEX)),
    "Supabase key": ("SUPABASE_SERVICE_ROLE_KEY={}", _jwt(3)),
    "PlanetScale": ("PLANETSCALE_PASSWORD={}", "pscale_pw_" + _some(43)),
    "Snowflake": ("snowsql --password {}", _some(16) + "!x"),
    "Facebook": ("access_token={}", "EAA" + _some(120)),
    "Discord bot": ("DISCORD_BOT_TOKEN={}", "M" + _some(25) + "." + _some(6) + "." + _some(38)),
    "Azure AD": ("AZURE_CLIENT_SECRET={}", _some(3) + "8Q~" + _some(34)),
    "Azure storage": ("AccountName=a;AccountKey={};EndpointSuffix=b", _some(86) + "=="),
    "Azure shared access": ("Endpoint=sb://x/;SharedAccessKeyName=n;SharedAccessKey={}", _some(43) + "="),
    "Algolia": ("ALGOLIA_ADMIN_KEY={}", _some(32, _HEX)),
    "Okta": ("Authorization: SSWS {}".replace("SSWS", "Token"), "00" + _some(40)),
    "Auth0": ('"client_secret": "{}"', _some(64)),
    "Confluent": ("sasl.password={}", _some(64)),
    "Adafruit": ("ADAFRUIT_IO_KEY = api_key: {}", "aio_" + _some(28)),
    "1Password": ("OP_SERVICE_ACCOUNT_TOKEN={}", "ops_eyJ" + _some(200)),
    "Cohere": ("CO_API_KEY={}", _some(40)),
    "Mistral": ("MISTRAL_API_KEY={}", _some(32)),
    "Buildkite": ("BUILDKITE_API_TOKEN={}", "bkua_" + _some(40, _HEX)),
    "CircleCI": ("Circle-Token: {}", "CCIPAT_" + _some(22) + "_" + _some(40, _HEX)),
    "RubyGems": ("GEM_HOST_API_KEY={}", "rubygems_" + _some(48, _HEX)),
    "Clojars": ("CLOJARS_PASSWORD={}", "CLOJARS_" + _some(60, _LOWER)),
    "LaunchDarkly": ('sdk_key: "{}"', "sdk-" + _uuid()),
    "PagerDuty": ("Authorization: Token token={}", "u+" + _some(18)),
    "Intercom": ("INTERCOM_ACCESS_TOKEN={}", "dG9r" + _some(56) + "="),
    "Zendesk": ("curl -u joe@example.com/token:{} https://x.zendesk.com", _some(40)),
    "Pinecone": ("PINECONE_API_KEY={}", "pcsk_" + _some(6) + "_" + _some(60)),
    "Pinecone bare": ("my key {}", "pcsk_" + _some(6) + "_" + _some(60)),
    "Fireworks": ("FIREWORKS_API_KEY={}", "fw_" + _some(24)),
    "ElevenLabs": ("xi-api-key: {}", _some(32, _HEX)),
    "Teams webhook": (
        "{}",
        "https://acme.webhook.office.com/webhookb2/" + _uuid() + "/IncomingWebhook/" + _some(32, _HEX),
    ),
    "Zapier webhook": ("{}", "https://hooks.zapier.com/hooks/catch/12345/" + _some(24)),
    "Honeycomb": ("x-honeycomb-team: api_key={}", _some(32)),
    "Segment": ("SEGMENT_WRITE_KEY={}", _some(32)),
    "Mixpanel": ('"mixpanel_secret": "{}"', _some(32, _HEX)),
    "Contentful": ("CONTENTFUL_DELIVERY_TOKEN={}", _some(43)),
    "Codecov": ("CODECOV_TOKEN={}", _uuid()),
    "Rollbar": ("rollbar.access_token: {}", _some(32, _HEX)),
    "Mattermost": ("MM_TOKEN={}", _some(26, _LOWER)),
}
_PASSWORDS = (
    "hunter2!X",
    "Tr0ub4dor&3",
    "$uper!Secret9",
    "*Wq92-long",
    "@Dm1n-pass",
    "(s3cr3t)x",
    "p4ss;w0rd,x",
    "c0rrecthorse",
)


def _pem_lines() -> list[str]:
    return [
        "-----BEGIN RSA " + "PRIVATE KEY-----",
        *(_some(64) for _ in range(5)),
        _some(30) + "==",
        "-----END RSA " + "PRIVATE KEY-----",
    ]


def _pems() -> Iterator[tuple[str, str, list[str]]]:
    forms = {
        "plain": "{line}",
        "arrow numbers": "{number:6d}→{line}",
        "tab numbers": "{number:6d}\t{line}",
        "bar numbers": "{number:>4} | {line}",
        "added in a diff": "+{line}",
        "removed in a diff": "-{line}",
        "context of a diff": " {line}",
        "grep -n": "{number}:{line}",
        "grep -rn": "deploy/key.pem:{number}:{line}",
        "grep -C": "deploy/key.pem-{number}-{line}",
        "quoted mail": "> {line}",
        "indented": "    {line}",
    }
    for name, form in forms.items():
        lines = _pem_lines()
        yield (
            f"private key, {name}",
            "\n".join(form.format(number=number, line=line) for number, line in enumerate(lines, 1)),
            lines[1:-1],
        )
    lines = _pem_lines()
    yield "private key in JSON", '{"k": "' + "\\n".join(lines) + '"}', lines[1:-1]
    yield (
        "private key, its end",
        "\n".join(f"{n:6d}→{line}" for n, line in enumerate(lines[3:], 4)),
        lines[3:-1],
    )
    yield (
        "private key, cut off",
        "\n".join(f"{n:6d}→{line}" for n, line in enumerate(lines[:4], 1)),
        lines[1:4],
    )


def _structural() -> Iterator[tuple[str, str, list[str]]]:
    yield from _pems()
    one, two = _PASSWORDS[0], _some(14)
    docker = base64.b64encode(f"joe:{two}".encode()).decode()
    forms = {
        "DB_PASS": f"DB_PASS={one}",
        "SECRET_KEY_BASE": f"SECRET_KEY_BASE={_some(64, _HEX)}",
        "cookie": f"Cookie: theme=dark; sid={_some(32)}",
        "set-cookie": f"Set-Cookie: session={_some(32)}; Path=/; HttpOnly",
        "netrc": f"machine api.example.com login joe password {two}",
        "pgpass": f"db.example.com:5432:main:app:{two}",
        "pgpass any": f"*:*:*:app:{two}",
        "passphrase": 'password = "correct horse battery staple"',
        "sshpass": f"sshpass -p {two} ssh joe@host",
        "sshpass joined": f"sshpass -p'{two}' ssh joe@host",
        "mysql": f"mysql -u root -p{two} main",
        "mysqldump": f"mysqldump -h db -u root -p'{two}' main > x.sql",
        "docker auth": f'{{"auths": {{"r.io": {{"auth": "{docker}"}}}}}}',
        "xml": f"<password>{two}</password>",
        "xml attribute": f'<add key="DbPassword" value="{two}"/>',
        "xml token": f"<apiToken>{_some(24)}</apiToken>",
        "redis-cli": f"redis-cli -h cache -a {two} ping",
        "mongo": f"mongosh -u admin -p {two} db",
        "ldap": f"ldapsearch -D cn=admin -w {two} -b dc=x",
        "htpasswd": f"htpasswd -b .htpasswd joe {two}",
        "openssl": f"openssl rsa -in k.pem -passin pass:{two}",
        "zip": f"zip -P {two} out.zip a b",
        "smbclient": f"smbclient //h/s -U joe%{two}",
        "curl": f"curl -u joe:{two} https://x.org",
        "odbc": f"Server=db;Uid=sa;Pwd={two};",
        "jdbc": f"jdbc:postgresql://h/db?user=a&password={two}",
        "url": f"amqp://joe:{two}@mq:5672/",
        "redis url": f"redis://:{two}@cache:6379/0",
        "basic": "Authorization: Basic " + base64.b64encode(f"joe:{two}".encode()).decode(),
        "spoken": f"the password is {one}",
        "yaml": f"db:\n  password: {two}\n",
        "ini": f"[db]\npasswd = {two}\n",
        "json escaped": f'{{\\"password\\": \\"{two}\\"}}',
        "ruby": f":password => '{two}'",
        "powershell": f'$env:DB_PASSWORD = "{two}"',
        "compose": f"      - POSTGRES_PASSWORD={two}",
        "option": f"tool --password {two} --verbose",
        "option equals": f"tool --api-key={two}9 -v",
        "numbered env": f"     3→DB_PASSWORD={two}",
        "diff env": f"+API_TOKEN={two}",
        "grep env": f".env:3:API_SECRET={two}",
        "npmrc": f"//r.io/:_password={two}",
        "suffix": f"DB_PASSWORD_PROD={two}",
        "query": f"GET /v1?api_key={two}&x=1",
        "signed": f"https://b.s3.amazonaws.com/o?X-Amz-Signature={_some(64, _HEX)}",
    }
    for name, text in forms.items():
        known = [secret for secret in (one, two, docker, "battery staple") if secret in text]
        yield name, text, known or [max(_LONG.findall(text), key=len)]
    for password in _PASSWORDS:
        yield f"env {password}", f"SMTP_PASS={password}", [password]
        yield f"json {password}", f'{{"password": "{password}"}}', [password]


def secrets(half: str) -> Iterator[tuple[str, str, list[str]]]:
    """What it is, a text with it, and the pieces of which none may be left."""
    for provider, (written, key) in (LISTED if half == "listed" else HELD_OUT).items():
        piece = key.rpartition("/")[2] if key.startswith("https://") and "@" not in key else key
        piece = key.partition("@")[0].removeprefix("https://") if "@" in key else piece
        yield provider, written.format(key), [piece]
        if "://" not in key:
            name = provider.upper().replace(" ", "_").replace("-", "_")
            if half == "held out":
                yield f"{provider}, JSON", f'{{"name": "x", "{name.lower()}_api_key": "{key}"}}', [piece]
            else:
                yield f"{provider}, alone", f"use `{key}`, then go on", [piece]
    if half == "listed":
        yield from _structural()


_WORDS = [
    "alpha",
    "bravo",
    "delta",
    "gamma",
    "kilo",
    "lima",
    "metro",
    "nova",
    "omega",
    "prime",
    "sigma",
    "tango",
    "ultra",
    "vector",
    "zulu",
]


def look_alikes() -> Iterator[str]:
    """Text that has the form of a secret and is none."""
    for n in range(12):
        word, other = _WORDS[n], _WORDS[-n - 1]
        yield f"commit {_some(40, _HEX)}"
        yield f"id: {_uuid()}"
        yield f"sk-{word}-pipeline-v{n}-20240{n % 9 + 1}01"
        yield f"sha256:{_some(64, _HEX)}"
        yield f'"integrity": "sha512-{_some(86)}=="'
        yield f"call_{_some(24)}"
        yield f"toolu_01{_some(22)}"
        yield f"data:image/png;base64,iVBORw0KGgo{_some(80)}"
        yield f"DB_PASS=${{{word.upper()}_DB_PASS}}"
        yield f"password = get_{word}_password()"
        yield f"token = self.{word}.{other}"
        yield f'"{word}_token": "<your {word} token>"'
    yield from (
        "sk-" + "learn-pipeline-v2-20240101",
        "password: ********",
        "API_KEY=your-api-key-here",
        "token: ${{ secrets.GH_TOKEN }}",
        "password: string",
        "max_tokens=4096",
        "primary_key: id_12345678",
        "PASSWORD=$DB_PASSWORD",
        "secret: !Ref DbSecret",
        'password = "Enter your password"',
        '"password": "must be at least 8 characters"',
        "bypass=true",
        "compass: north42",
        "export PWD=/home/joe/project",
        '-v "$PWD:/src:ro"',
        "token_count: 51234",
        "passed 12 of 13 tests",
        "keyboard=qwerty123",
        "Cookie: name=value",
        "Set-Cookie: theme=dark; Path=/",
        "src/main.c:5432:12:error:x",
        "git@github.com:a/b.git",
        "mysql -u root -p main",
        "ssh -p 2222 host",
        "docker run -p 8080:80 app",
        "login -p",
        "mkdir -p src/password/token",
        "password=os.environ['DB_PASSWORD']",
        "https://user@host/path",
        "http://localhost:8000/users/@me",
        "npm_config_cache=/tmp/x",
        "hf_hub_download(repo_id)",
        "eyJ is how it begins",
        "-----BEGIN PUBLIC KEY-----",
        "ghp_ is the prefix",
        "cache_key: a1b2c3d4e5f6a7b8c9d0",
        "AKIA is the prefix of access keys",
        "Authorization: Bearer <token>",
        "Authorization: required",
        "secret = None",
    )
