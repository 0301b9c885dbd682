/*
 * Goal: kubectl reads logs, runs commands, attaches, copies files and forwards ports through the
 * agent of a node.
 * Method: a real kubectl against a real process; a node agent of the test, which runs the commands
 * in a folder and forwards ports by SPDY.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import type { Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { ServerResponse } from 'node:http'
import { TestAuthority } from '../../fixtures/server-fixture.ts'
import { Kubectl } from '../support/drivers/kubectl.ts'
import { ProcessCluster } from '../support/drivers/process-cluster.ts'
import { runCommand } from '../support/fixtures/agent-commands.ts'
import { forwardPorts } from '../support/fixtures/agent-ports.ts'
import { NodeAgent } from '../support/fixtures/node-agent.ts'
import { until } from '../support/tools/until.ts'

const kubectl = Kubectl.find()

void test('logs, exec, attach, cp and port-forward of kubectl work through the agent of a node', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'orch-streams-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const at = (name: string): string => join(folder, name)
  const authority = new TestAuthority('nodes-ca')
  const agent = await NodeAgent.start(t, authority)
  const { cert, key } = new TestAuthority('api-ca').client('api-server', [])
  writeFileSync(at('client.crt'), cert)
  writeFileSync(at('client.key'), key)
  writeFileSync(at('nodes.crt'), authority.pem)
  const cluster = await ProcessCluster.start({
    ...{ members: 1, domain: 'k8s.io' },
    config: {
      ...{ 'data-dir': '', 'in-memory': true },
      'kubelet-client-certificate': at('client.crt'),
      'kubelet-client-key': at('client.key'),
      'kubelet-certificate-authority': at('nodes.crt'),
    },
  })
  t.after(() => cluster.remove())
  const ok = (args: readonly string[], input?: string): Promise<string> =>
    kubectl.ok(cluster.kubeconfig, args, input)
  const addresses = [{ type: 'Hostname', address: 'localhost' }]
  const node = {
    ...{ apiVersion: 'v1', kind: 'Node', metadata: { name: 'm1' } },
    status: { addresses, daemonEndpoints: { kubeletEndpoint: { Port: agent.port } } },
  }
  const container = { name: 'main', image: 'registry.test/app', stdin: true }
  const pod = {
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' } },
    spec: { nodeName: 'm1', containers: [container], automountServiceAccountToken: false },
  }
  await until('the account of the Pod is there', async () => {
    const { code } = await kubectl.run(cluster.kubeconfig, ['get', 'serviceaccount', 'default'])
    return code === 0
  })
  await ok(['create', '-f', '-'], `${JSON.stringify(node)}\n${JSON.stringify(pod)}`)

  assert.equal(await ok(['logs', 'a', '--tail=5']), 'a log\n')
  assert.equal(agent.last.url, '/containerLogs/default/a/main?tailLines=5')
  let reply: ServerResponse | null = null
  agent.onRequest = (_, given) => {
    reply = given
    given.flushHeaders()
  }
  const followed = kubectl.follow(cluster.kubeconfig, ['logs', 'a', '-f'])
  const write = (text: string): void => void reply?.write(text)
  const end = (): void => void reply?.end()
  await until('kubectl follows', () => reply !== null, followed.reported)
  write('one\n')
  await until('the first line is shown', () => followed.lines.includes('one'), followed.reported)
  write('two\n')
  end()
  await until('kubectl ends', () => followed.child.exitCode !== null, followed.reported)
  assert.deepEqual([followed.lines, followed.child.exitCode], [['one', 'two'], 0])

  const home = at('container')
  mkdirSync(home)
  agent.onUpgrade = (request, socket) => runCommand(request, socket, home)
  assert.equal(await ok(['exec', 'a', '--', 'echo', 'hello', 'there']), 'hello there\n')
  assert.equal(
    agent.last.url,
    '/exec/default/a/main?command=echo&command=hello&command=there&error=1&output=1',
  )
  const input = 'x'.repeat(1_000_000)
  assert.equal(await ok(['exec', '-i', 'a', '--', 'cat'], input), input)
  const failed = await kubectl.run(cluster.kubeconfig, ['exec', 'a', '--', 'sh', '-c', 'echo no >&2; exit 3'])
  assert.deepEqual([failed.code, failed.stderr.startsWith('no\n')], [3, true], failed.stderr)
  assert.match(await ok(['attach', '-i', 'a'], 'attached'), /attached/)
  assert.match(agent.last.url, /^\/attach\/default\/a\/main\?/)
  writeFileSync(at('sent'), input)
  await ok(['cp', at('sent'), 'a:copied'])
  assert.equal(readFileSync(join(home, 'copied'), 'utf8'), input)
  await ok(['cp', 'a:copied', at('back')])
  assert.equal(readFileSync(at('back'), 'utf8'), input)

  // A server in the Pod, which returns what it gets once it has all of it.
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    const chunks: Buffer[] = []
    socket.on('data', (bytes: Buffer) => chunks.push(bytes))
    socket.on('end', () => socket.end(Buffer.concat(chunks)))
    socket.on('error', () => undefined)
  })
  server.listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  const serverPort = portOf(server)
  agent.onUpgrade = (request, socket, head) =>
    forwardPorts(request, socket, head, (port) =>
      connect({ port: port === 80 ? serverPort : 1, host: '127.0.0.1', allowHalfOpen: true }),
    )
  const running = { status: { phase: 'Running' } }
  await ok(['patch', 'pod', 'a', '--subresource=status', '--type=merge', '-p', JSON.stringify(running)])
  const forward = kubectl.follow(cluster.kubeconfig, ['port-forward', 'pod/a', ':80', ':81'])
  t.after(() => forward.child.kill())
  const localPort = (port: number): number => {
    const line = forward.lines.find(
      (one) => one.startsWith('Forwarding from 127') && one.endsWith(` ${port}`),
    )
    return Number(/:(\d+) ->/.exec(line ?? '')?.[1] ?? 0)
  }
  await until('both ports are forwarded', () => localPort(80) > 0 && localPort(81) > 0, forward.reported)
  const echoes = ['one', input, ''].map((text) => exchange(localPort(80), text))
  assert.deepEqual(await Promise.all(echoes), ['one', input, ''], forward.reported())
  const { method, url, headers } = agent.last
  assert.deepEqual([method, url, headers.upgrade], ['POST', '/portForward/default/a', 'SPDY/3.1'])
  assert.equal(await exchange(localPort(81), 'x'), '')
  await until('the error of the agent is shown', () => /port is not reached/.test(forward.reported()))
})

function portOf(server: Server): number {
  const address = server.address()
  assert.ok(address !== null && typeof address === 'object')
  return address.port
}

/** Sends a text, ends the stream, and returns all that comes back. */
async function exchange(port: number, text: string): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  const chunks: Buffer[] = []
  socket.on('data', (bytes: Buffer) => chunks.push(bytes))
  socket.on('error', () => undefined)
  socket.on('end', () => socket.destroy())
  socket.end(text)
  await until('the connection ends', () => socket.closed)
  return Buffer.concat(chunks).toString('utf8')
}
