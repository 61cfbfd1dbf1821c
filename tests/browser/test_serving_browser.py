"""The page of a server in a browser: it asks nobody else, and its requests are answered."""

import json

import pytest
from playwright.sync_api import expect

import linsep
from served import TOKEN, serving

pytestmark = [pytest.mark.compiled, pytest.mark.thorough]


def test_the_page_sends_requests_and_asks_nobody_else(browser, tmp_path):
    X = [[4.0, 0.0], [1.0, 1.0], [0.0, 1.0], [-2.0, -2.0]]
    model = linsep.Perceptron(shuffle=False).fit(X, ["+", "-", "-", "+"])
    path = linsep.save(model, tmp_path / "m.linsep")
    with serving(path, token=TOKEN, log=tmp_path / "rows.log") as client:
        page = browser.new_page()
        asked, said = [], []
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(f"http://127.0.0.1:{client.port}/")
        expect(page.locator("#about")).to_contain_text("This server needs a token")
        assert [text for text in said if "401" not in text] == []
        page.get_by_label("Token").fill(TOKEN)
        page.keyboard.press("Enter")
        expect(page.locator("h1")).to_have_text("linsep serve: Perceptron")
        predict = page.locator("details").first
        predict.get_by_label("explanations").check()
        predict.get_by_role("textbox").fill(json.dumps({"rows": X}))
        predict.get_by_role("button", name="Send").click()
        expect(predict.locator("pre")).to_contain_text('"predictions": [ "+", "-", "-", "+" ]')
        expect(predict.locator("pre")).to_contain_text('"score_of"')
        predict.get_by_role("textbox").fill('{"rows": [[1]]}')
        predict.get_by_role("button", name="Send").click()
        expect(predict.locator(".bad")).to_contain_text("422")
        learn = page.locator("details", has_text="/learn")
        learn.locator("summary").click()
        learn.get_by_role("button", name="Send").click()
        expect(learn.locator("pre")).to_contain_text('"learned": 1')
        assert {url.split("/")[2] for url in asked} == {f"127.0.0.1:{client.port}"}
        assert not any(TOKEN in url for url in asked)
        page.close()
