"""Attacks on redaction: secrets as tools, files and people write them. Samples are put together at run time."""

import base64
import json
import random
import string

import pytest

from plimsoll.secrets import redact

_made = random.Random(7)
_MIXED = string.ascii_letters + string.digits
_HEX = "0123456789abcdef"
PASSWORD = "Sup3r" + "S3cret"


def _some(count: int, alphabet: str = _MIXED) -> str:
    return "".join(_made.choice(alphabet) for _ in range(count))


RANDOM = "7Q" + _some(38)
HEX = "4f" + _some(38, _HEX)
AWS = base64.b64encode(_made.randbytes(30)).decode()
WEBHOOK = "https://acme.webhook.office.com/webhookb2/{}@x/IncomingWebhook/{}/y"

WRITTEN = {
    "first argument of a call": (f"define('DB_PASSWORD', '{PASSWORD}');", PASSWORD),
    "bytes in Python": (f"secret_key = b'{PASSWORD}'", PASSWORD),
    "block in YAML": (f"password: |\n  {PASSWORD}!", PASSWORD),
    "table of a cloud CLI": (f"|  SecretAccessKey |  {AWS}  |", AWS),
    "command that sets": (f"aws configure set aws_secret_access_key {AWS}", AWS),
    "prompt that sets": (f"AWS Secret Access Key [None]: {AWS}", AWS),
    "name that ends in PAT": (f"AZURE_DEVOPS_EXT_PAT={HEX}", HEX),
    "SQL": (f"ALTER USER 'root'@'%' IDENTIFIED BY '{PASSWORD}';", PASSWORD),
    "PowerShell": (f'$password = ConvertTo-SecureString "{PASSWORD}" -AsPlainText', PASSWORD),
    "Redis": (f"requirepass {PASSWORD}", PASSWORD),
    "keytool": (f"keytool -storepass {PASSWORD} -list", PASSWORD),
    "cookie of curl": (f"curl -b 'session={RANDOM}' https://x", RANDOM),
    "HTTPie": (f"http -a joe:{PASSWORD} https://x", PASSWORD),
    "Oracle": (f"jdbc:oracle:thin:scott/{PASSWORD}@host:1521/x", PASSWORD),
    "Terraform": (f'variable "db_password" {{\n  default = "{PASSWORD}"\n}}', PASSWORD),
    "cookie file": (f".x.com\tTRUE\t/\tTRUE\t1893456000\tsessionid\t{RANDOM}", RANDOM),
    "JSON Web Key": (json.dumps({"kty": "RSA", "e": "AQAB", "d": RANDOM}), RANDOM),
    "key of PuTTY": (f"PuTTY-User-Key-File-3: rsa\nPrivate-Lines: 1\n{AWS}", AWS),
    "scheme of Okta": (f"Authorization: SSWS 00{RANDOM}", RANDOM),
    "signed request": (f"Authorization: AWS4-HMAC-SHA256 Credential=a/b, Signature={HEX}{HEX[:24]}", HEX),
    "function key": (f"https://x.azurewebsites.net/api/h?code={RANDOM}==", RANDOM),
    "segment in a webhook": (WEBHOOK.format(HEX, RANDOM), RANDOM),
    "hexadecimal key": (f"use sntryu_{HEX}{HEX[:24]} there", HEX),
    "sentence": ("the password is Summer" + "2024!", "Summer2024"),
    "Chinese": ("密码是Summer" + "2024!", "Summer2024"),
    "German": ("Passwort: Sommer" + "2024!", "Sommer2024"),
    "Spanish": ("contraseña: Verano" + "2024!", "Verano2024"),
}
LOOK_ALIKES = (
    f"cache-key: linux-{HEX}{HEX[:24]}", f"resp_{HEX}", f"pack-{HEX}", f"container_{HEX}", f"sha-{HEX}",
    "secret: process.env.JWT_SECRET!", '["password", "password123"]', 't("password", "Passwort eingeben")',
    "validate('password', 'required|min:8')", "| password | string | yes |", "| max_tokens | 4096 |",
    "git config set core.editor vim", "requirepass is not set", "http -a user:pass example",
    "https://x.com/?code=en-US", "?code=NOT_FOUND", "密码：请输入密码", "忘记密码", "Passwort: erforderlich",
    "the password is sha256 hashed", 'variable "token_ttl" { default = "24h" }', "password: |\n  # see vault",
    f'"kty": "RSA", "n": "{RANDOM}", "e": "AQAB"', "Authorization: OAuth 2.0 is described below",
)  # fmt: skip


@pytest.mark.parametrize("written", WRITTEN)
def test_a_secret_is_found_however_it_is_written(written: str) -> None:
    text, secret = WRITTEN[written]
    once = redact(text)
    assert secret not in once
    assert redact(once) == once


@pytest.mark.parametrize("text", LOOK_ALIKES)
def test_text_that_only_looks_like_a_secret_stays(text: str) -> None:
    assert redact(text) == text
