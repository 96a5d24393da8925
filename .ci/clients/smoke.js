// Calls of npm's toxiproxy-node-client against a proxy: node smoke.js URL

const assert = require("node:assert");
const { Toxiproxy } = require("toxiproxy-node-client");

async function main(url) {
  const server = new Toxiproxy(url);
  assert.ok(await server.getVersion());
  const proxy = await server.createProxy({ name: "smoke", listen: "127.0.0.1:0", upstream: "127.0.0.1:9" });
  const toxic = await proxy.addToxic({
    name: "slow", type: "latency", stream: "downstream", toxicity: 0.5, attributes: { latency: 80, jitter: 0 },
  });
  assert.strictEqual(toxic.attributes.latency, 80);
  assert.strictEqual((await proxy.getToxic("slow")).toxicity, 0.5);
  await proxy.update({ enabled: false, listen: proxy.listen, upstream: proxy.upstream });
  assert.strictEqual((await server.get("smoke")).enabled, false);
  await server.reset();
  assert.strictEqual((await server.get("smoke")).enabled, true);
  await assert.rejects(proxy.getToxic("slow"));
  await proxy.remove();
  assert.strictEqual(Object.keys(await server.getAll()).length, 0);
  console.log("toxiproxy-node-client: ok");
}

main(process.argv[2]).catch((error) => { console.error(error); process.exit(1); });
