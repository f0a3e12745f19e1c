"""Runs localstripe, an independent fake of Stripe, for a test: `localstripe_front.py PORT`.

localstripe implements Stripe's API of before 2020 and refuses every later parameter. This front translates
requests and answers. It answers with an empty list for objects that localstripe does not have: checkout
sessions, disputes and invoice payments. localstripe has no idempotency keys, schedules, pagination or
pending updates. Only our own fake tests those.
"""

import asyncio
import json
import sys
from urllib.parse import parse_qsl

import aiohttp
from aiohttp import web
from localstripe import server

INNER = "http://127.0.0.1:%d"
EMPTY = ("/v1/checkout/sessions", "/v1/disputes", "/v1/invoice_payments")


def priced(value):
    """Adds `price`, the name since 2020 of what localstripe calls a plan."""
    if isinstance(value, list):
        return [priced(one) for one in value]
    if not isinstance(value, dict):
        return value
    value = {name: priced(member) for name, member in value.items()}
    if isinstance(value.get("plan"), dict):
        value["price"] = value["plan"]
    return value


class Front:
    def __init__(self, inner):
        self.inner = inner
        self.session = None

    async def ask(self, method, path, fields, headers):
        """Sends a request in localstripe's terms; returns the status and the body."""
        url = self.inner + path
        keep = {k: v for k, v in headers.items() if k.lower() == "authorization"}
        arguments = {"params": fields} if method == "GET" else {"data": fields}
        async with self.session.request(method, url, headers=keep, **arguments) as reply:
            return reply.status, await reply.read()

    async def handle(self, request):
        if self.session is None:
            self.session = aiohttp.ClientSession()
        if request.method == "GET":
            fields = parse_qsl(request.query_string, keep_blank_values=True)
        else:
            text = (await request.read()).decode()
            fields = parse_qsl(text, keep_blank_values=True)
        path = request.path
        if request.method == "GET" and path in EMPTY:
            body = {"object": "list", "data": [], "has_more": False, "url": path}
            return web.json_response(body)
        if path.startswith("/_config/"):
            status, body = await self.ask(request.method, path, fields, request.headers)
            return web.Response(status=status, body=body)
        status, body = await self.told(request.method, path, fields, request.headers)
        body = json.dumps(priced(json.loads(body))).encode()
        return web.Response(status=status, body=body, content_type="application/json")

    async def told(self, method, path, fields, headers):
        def without(*names):
            return [(k, v) for k, v in fields if k not in names]

        value = dict(fields)
        if method == "GET":
            # localstripe refuses to expand fields that it does not know.
            fields = [
                (k, "latest_invoice" if v.startswith("latest_invoice") else v)
                for k, v in fields
                if v not in ("data.payments", "confirmation_secret")
            ]
            return await self.ask(method, path, fields, headers)
        if method == "POST" and path == "/v1/setup_intents":
            return await self.set_up(value, headers)
        if method == "POST" and path.startswith("/v1/subscriptions"):
            fields = [(k.replace("[price]", "[plan]"), v) for k, v in fields]
            method_id = value.get("default_payment_method")
            if method_id:
                customer = value.get("customer") or await self.customer(path, headers)
                default = [("invoice_settings[default_payment_method]", method_id)]
                await self.ask("POST", "/v1/customers/" + customer, default, headers)
            fields = without("default_payment_method", "off_session", "proration_behavior")
            if path != "/v1/subscriptions":
                fields = [(k, v) for k, v in fields if k != "payment_behavior"]
            fields = [(k.replace("[price]", "[plan]"), v) for k, v in fields]
            # An update without any parameter that localstripe knows becomes a read.
            if not without("default_payment_method", "expand[]"):
                return await self.ask("GET", path, [("expand[]", "latest_invoice")], headers)
        return await self.ask(method, path, fields, headers)

    async def customer(self, path, headers):
        _, body = await self.ask("GET", path, [], headers)
        return json.loads(body)["customer"]

    async def set_up(self, value, headers):
        """Creates, confirms and attaches in one step, as Stripe does today."""
        fields = [("customer", value["customer"]), ("usage", value.get("usage", "off_session"))]
        status, body = await self.ask("POST", "/v1/setup_intents", fields, headers)
        if status != 200:
            return status, body
        path = "/v1/setup_intents/%s/confirm" % json.loads(body)["id"]
        fields = [("payment_method", value["payment_method"])]
        status, body = await self.ask("POST", path, fields, headers)
        intent = json.loads(body)
        if status == 200 and intent["status"] == "succeeded":
            path = "/v1/payment_methods/%s/attach" % intent["payment_method"]
            await self.ask("POST", path, [("customer", value["customer"])], headers)
        return status, body


async def main(port):
    inner = web.AppRunner(server.app)
    await inner.setup()
    site = web.TCPSite(inner, "127.0.0.1", 0)
    await site.start()
    front = Front(INNER % inner.addresses[0][1])
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", front.handle)
    outer = web.AppRunner(app)
    await outer.setup()
    await web.TCPSite(outer, "127.0.0.1", port).start()
    print("ready", flush=True)
    await asyncio.Event().wait()


asyncio.run(main(int(sys.argv[1])))
