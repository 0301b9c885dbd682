/*
 * Goal: a member that gets a second stop signal exits with its own message and exit code, also
 * under calls of peers: Node would abort by an assertion when a thread is terminated during one.
 * Method: a real process whose peer port gets calls without a pause, with the keys of a peer.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { connect } from 'node:http2'
import type { ClientHttp2Session } from 'node:http2'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { method } from '../../raft/transport/options.ts'
import { clusterPkiPaths } from '../../src/pki/cluster-pki.ts'
import { ProcessCluster } from '../support/drivers/process-cluster.ts'
import type { MemberProcess } from '../support/drivers/process-cluster.ts'
import { until } from '../support/tools/until.ts'

const rounds = 6
const sessions = 4

void test('a member that gets two stop signals exits with its own code while peers connect to it', async (t) => {
  const cluster = await ProcessCluster.prepare({ members: 3 })
  t.after(() => cluster.remove())
  const [member] = cluster.members
  if (member === undefined) return assert.fail('there are members')
  let calls = 0
  for (let round = 0; round < rounds; round++) {
    member.start()
    const callers = Array.from({ length: sessions }, () => new Caller(cluster, member))
    for (const caller of callers) await caller.untilAnswered()
    member.signal('SIGTERM')
    const ended: number | string = await member.stop('SIGINT')
    for (const caller of callers) calls += caller.end()
    assert.equal(ended, 1, `round ${round}: ended by ${ended}\n${member.currentLog()}`)
    assert.match(member.currentLog(), /^orch-apiserver: second signal: exiting without waiting /m)
  }
  console.log(`# ended ${rounds} times by itself, with ${calls} calls of peers`)
})

/** Opens one call after another, as a peer does, and sends a message in each at once. */
class Caller {
  readonly #cluster: ProcessCluster
  readonly #member: MemberProcess
  #session: ClientHttp2Session | null = null
  #calls = 0
  #answers = 0
  #over = false

  constructor(cluster: ProcessCluster, member: MemberProcess) {
    this.#cluster = cluster
    this.#member = member
    this.#dial()
  }

  /** Resolves when calls are answered. */
  async untilAnswered(): Promise<void> {
    const before = this.#answers
    await until(
      'calls are answered',
      () => {
        assert.ok(this.#member.running, this.#member.currentLog())
        return this.#answers >= before + 10
      },
      () => this.#member.currentLog(),
      10,
    )
  }

  /** @returns how many calls there were */
  end(): number {
    this.#over = true
    this.#session?.destroy()
    return this.#calls
  }

  #dial(): void {
    const { directory } = this.#cluster
    const paths = clusterPkiPaths(join(directory, 'pki'))
    const config = parse(readFileSync(join(this.#member.directory, 'config.yaml'), 'utf8')) as {
      readonly 'peer-address': string
    }
    const session = connect(`https://${config['peer-address']}`, {
      ca: readFileSync(paths.peerCa.certificate),
      cert: readFileSync(paths.peer('n2').certificate),
      key: readFileSync(paths.peer('n2').key),
      checkServerIdentity: () => undefined,
    })
    this.#session = session
    session.on('error', () => undefined)
    session.on('close', () => {
      if (!this.#over) setTimeout(() => !this.#over && this.#dial(), 10)
    })
    session.on('connect', () => {
      for (let at = 0; at < 8; at++) this.#call(session)
    })
  }

  #call(session: ClientHttp2Session): void {
    if (session.destroyed || session.closed) return
    const call = session.request({
      ':method': 'POST',
      ':path': method.messages,
      'content-type': 'application/grpc',
      te: 'trailers',
    })
    this.#calls++
    call.on('error', () => undefined)
    call.on('response', () => this.#answers++)
    call.on('close', () => setImmediate(() => this.#call(session)))
    // Not a valid frame: the call is refused, and the next one follows.
    call.end(Buffer.from([0, 0, 0, 0, 1, 255]))
    call.resume()
  }
}
