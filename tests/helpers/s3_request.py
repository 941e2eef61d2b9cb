#!/usr/bin/env python3
"""One signed request to an S3 server, for tests: request.py METHOD /BUCKET[/KEY] [FILE]
What comes back goes to stdout.  Endpoint, region and keys as AWS_... of the environment say."""
import datetime, hashlib, hmac, os, sys, urllib.parse, urllib.request

def sign(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()

def request(method, path, body=b""):
    end, region = os.environ["AWS_ENDPOINT_URL"], os.environ["AWS_REGION"]
    now = datetime.datetime.utcnow().strftime("%Y%m%dT%H%M%SZ")
    digest = hashlib.sha256(body).hexdigest()
    path, _, query = path.partition("?")
    path = urllib.parse.quote(path)
    host = end.split("//")[1]
    canonical = f"{method}\n{path}\n{query}\nhost:{host}\nx-amz-content-sha256:{digest}\nx-amz-date:{now}\n\nhost;x-amz-content-sha256;x-amz-date\n{digest}"
    scope = f"{now[:8]}/{region}/s3/aws4_request"
    text = f"AWS4-HMAC-SHA256\n{now}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    key = ("AWS4" + os.environ["AWS_SECRET_ACCESS_KEY"]).encode()
    for part in (now[:8], region, "s3", "aws4_request"):
        key = sign(key, part)
    headers = {"x-amz-content-sha256": digest, "x-amz-date": now, "Authorization":
               f"AWS4-HMAC-SHA256 Credential={os.environ['AWS_ACCESS_KEY_ID']}/{scope}, "
               f"SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature={sign(key, text).hex()}"}
    r = urllib.request.Request(end + path + ("?" + query if query else ""), data=body if method == "PUT" else None, method=method, headers=headers)
    return urllib.request.urlopen(r).read()

if __name__ == "__main__":
    sys.stdout.buffer.write(request(sys.argv[1], sys.argv[2], open(sys.argv[3], "rb").read() if len(sys.argv) > 3 else b""))
