/*
 * Goal: a joining process becomes the member of its token, or exits with a one-line error and a
 * remedy; the same command completes an interrupted join.
 * Method: the shipped start steps against a real server over TLS, whose configuration changes by
 * the shipped plan.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { createServer, request as httpsRequest } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { SeededRandom } from '../../base/random.ts'
import { ConsensusError } from '../../raft/index.ts'
import { namesOf } from '../../src/api/metadata/names.ts'
import { StartError } from '../../src/config/start-error.ts'
import { claimDirectory, joinedIdentity, memberId } from '../../src/data-dir/member-identity.ts'
import { ownIdentity } from '../../src/membership/own-identity.ts'
import type { OwnIdentity } from '../../src/membership/own-identity.ts'
import { limits } from '../../src/config/limits.ts'
import { clusterPkiPaths } from '../../src/pki/cluster-pki.ts'
import { featureLevelMax } from '../../src/version.ts'
import type { PlannedMembers } from '../support/join-service-kit.ts'
import { configOf, fingerprintsFor, keysIn, pkiFlags, place } from '../support/fixtures/join-cluster.ts'
import type { Place } from '../support/fixtures/join-cluster.ts'
import { freshRandom, systemClock } from '../../fixtures/system.ts'
import { ask11 } from '../support/fixtures/tls-server.ts'

/**
 * Runs the start steps of a process with these flags; each pause advances the clock by a minute.
 */
async function start(flags: Record<string, string>, lines: string[] = []): Promise<OwnIdentity> {
  const config = configOf(flags)
  let aheadMs = 0
  const clock = {
    ...systemClock,
    monotonicMs: () => performance.now() + aheadMs,
    after: (_: number, action: () => void) => {
      aheadMs += 60_000
      return systemClock.after(1, action)
    },
  }
  const say = (fields: unknown, words?: string): void => void lines.push(words ?? String(fields))
  const directory = config['data-dir']
  mkdirSync(directory, { recursive: true })
  return ownIdentity(
    {
      config,
      clock,
      random: freshRandom(),
      names: namesOf(config['api-domain']),
      log: { info: say, warn: say, error: say } as never,
    },
    directory,
  )
}

async function refused(flags: Record<string, string>, code: string, says: RegExp): Promise<void> {
  await assert.rejects(start(flags), (cause: unknown) => {
    assert.ok(cause instanceof StartError, String(cause))
    assert.equal(cause.code, code, cause.message)
    assert.match(cause.message, says)
    assert.doesNotMatch(cause.message, /\n/)
    return true
  })
  assert.ok(!existsSync(join(flags['data-dir'] ?? '', 'member.json')), 'nothing is claimed')
}

void test('joining with an empty directory creates the member of the token exactly once', async (t) => {
  const { members, flags, token, folder } = await place(t)
  const given = flags(await token())
  const own = await start(given)
  assert.equal(own.id, members.named('n4')?.id)
  assert.deepEqual([own.cluster, own.incarnation], ['orch@ab12', 'ab12'])
  assert.equal(own.joined?.members.length, 4)
  assert.deepEqual(readdirSync(join(folder, 'data')), ['member.json'])
  const lines: string[] = []
  assert.deepEqual(
    await start({ ...given, 'join-token': 'no longer looked at', join: '127.0.0.1:1' }, lines),
    own,
  )
  assert.match(lines.join('\n'), /joined before: ignoring --join/)
  // The state after a process was killed between the claim and the removal of this file.
  writeFileSync(join(folder, 'data', 'joining'), `${'11'.repeat(16)}\n`)
  const without = Object.fromEntries(Object.entries(given).filter(([name]) => !name.startsWith('join')))
  assert.deepEqual(await start(without), own)
  assert.deepEqual(readdirSync(join(folder, 'data')), ['member.json'])
})

void test('a member without a cluster yet is retried for a limited time', async (t) => {
  let unknownFor = 2
  const there: Place = await place(t, {
    cluster: () => ({
      ...{ clusterName: 'orch', incarnation: 'ab12', apiDomain: 'orch.io', featureLevel: featureLevelMax },
      clusterId: unknownFor-- > 0 ? null : '00'.repeat(16),
      fingerprints: fingerprintsFor(there.kubeconfig),
    }),
  })
  unknownFor = 0
  const given = there.flags(await there.token())
  unknownFor = Infinity
  await refused(
    given,
    'join',
    /no member accepted the join request within 120 s .*the cluster is not founded yet: try again/,
  )
  unknownFor = 2
  const lines: string[] = []
  const own = await start(given, lines)
  assert.match(lines.join('\n'), /retrying/)
  assert.equal(own.joined?.clusterId, '00'.repeat(16))
  assert.equal(own.id, there.members.named('n4')?.id)
})

void test('a member that throttles the join request is asked again for a limited time', async (t) => {
  const { flags, token, folder } = await place(t)
  const { certificate, key } = clusterPkiPaths(join(folder, 'pki')).server('n1')
  let calls = 0
  const server = createServer(
    { cert: readFileSync(certificate), key: readFileSync(key) },
    (request, reply) => {
      calls++
      request.resume()
      reply.writeHead(429, { connection: 'close' }).end()
    },
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const given = { ...flags(await token()), join: `127.0.0.1:${port}` }
  await refused(given, 'join', /no member accepted the join request within 120 s .*HTTP 429/)
  assert.ok(calls > 1, `${calls} calls`)
})

void test('a token file works, and one responding address among several is enough', async (t) => {
  const { flags, token, folder, address } = await place(t)
  const path = join(folder, 'token')
  writeFileSync(path, `${await token()}\n`)
  await start({ ...flags(''), join: `127.0.0.1:1,https://${address}/`, 'join-token-file': path })
})

void test('a retry after a lost response joins as the same member, a new data directory is refused', async (t) => {
  const { members, flags, token, folder } = await place(t)
  const given = flags(await token())
  members.failures.push({ when: 'after', cause: new ConsensusError('timed-out', 'too slow') })
  members.failures.push({ when: 'before', cause: new ConsensusError('stopped', 'this member is stopping') })
  const lines: string[] = []
  const own = await start(given, lines)
  assert.match(lines.join('\n'), /retrying/)
  assert.equal(members.changes.length, 2)
  assert.equal(own.id, members.named('n4')?.id)
  // Without its data directory the process has another nonce: it counts as another process.
  const kept = readFileSync(join(folder, 'data', 'member.json'), 'utf8')
  assert.equal(joinedIdentity(join(folder, 'data'))?.id, own.id)
  rmSync(join(folder, 'data'), { recursive: true })
  await refused(given, 'usage', /another process joined with this token as n4.*orchctl member add n4/)
  assert.ok(existsSync(join(folder, 'data', 'joining')))
  writeFileSync(join(folder, 'data', 'member.json'), kept)
  assert.deepEqual(await start(given), own)
})

void test('a join that timed out after its first request resumes at the next start', async (t) => {
  const { members, flags, token, folder } = await place(t)
  const given = flags(await token())
  for (let at = 0; at < 3; at++) {
    members.failures.push({ when: 'after', cause: new ConsensusError('timed-out', 'too slow') })
  }
  await assert.rejects(start(given), (cause: unknown) => cause instanceof StartError && cause.code === 'join')
  const nonce = readFileSync(join(folder, 'data', 'joining'), 'utf8')
  const own = await start(given)
  assert.equal(own.id, members.named('n4')?.id)
  assert.match(nonce, /^[0-9a-f]{32}\n$/)
  assert.equal(members.configuration.members.length, 4)
})

void test('a process with an unfinished join does not bootstrap a cluster without --join', async (t) => {
  const { members, flags, token } = await place(t)
  const given = flags(await token())
  for (let at = 0; at < 3; at++) {
    members.failures.push({ when: 'after', cause: new ConsensusError('timed-out', 'too slow') })
  }
  await assert.rejects(start(given), (cause: unknown) => cause instanceof StartError && cause.code === 'join')
  const without = Object.fromEntries(Object.entries(given).filter(([name]) => !name.startsWith('join')))
  await refused(without, 'data-directory', /data\/joining .*the same --join and token.*or remove that file/)
  assert.equal((await start(given)).id, members.named('n4')?.id)
})

void test('a member removed while offline gets a clear error', async (t) => {
  const { members, flags, token, folder } = await place(t)
  const given = flags(await token())
  const kept = join(folder, 'data', 'joining')
  mkdirSync(join(folder, 'data'))
  writeFileSync(kept, `${'ab'.repeat(16)}\n`)
  const own = await start(given)
  await members.changeMembers({ kind: 'remove', id: own.id })
  rmSync(join(folder, 'data', 'member.json'))
  writeFileSync(kept, `${'ab'.repeat(16)}\n`)
  await refused(given, 'usage', /has been removed: orchctl member add n4/)
})

void test('each mismatch is a one-line error with a remedy', async (t) => {
  const { flags, token, folder, time, members } = await place(t)
  const good = await token()
  const right = flags(good)
  const n5 = pkiFlags(join(folder, 'pki'), 'n5')
  await refused({ ...right, 'join-token': '' }, 'usage', /orchctl member add n4/)
  await refused({ ...right, 'join-token': good.slice(1) }, 'usage', /is not a join token/)
  await refused(
    { ...right, 'join-token': `${good.slice(0, -32)}${'0'.repeat(32)}` },
    'usage',
    /does not accept this token/,
  )
  await refused({ ...right, ...n5, name: 'n5' }, 'usage', /is for member n4.*--name n4/)
  await refused(
    { ...right, ...n5 },
    'keys',
    /is the certificate of member n5, not n4: give --name n5.*pki init/,
  )
  await refused({ ...right, 'api-domain': 'k8s.io' }, 'usage', /--api-domain orch\.io/)
  await refused({ ...right, 'cluster-name': 'other' }, 'usage', /--cluster-name orch/)
  await refused({ ...right, 'peer-address': '127.0.0.1:7447' }, 'usage', /--peer-address 127\.0\.0\.1:7446/)
  await refused(
    { ...right, 'advertise-address': '127.0.0.1:1' },
    'usage',
    /--advertise-address 127\.0\.0\.1:6446/,
  )
  await refused({ ...right, 'feature-level-max': '1' }, 'usage', /such as 1\.0\.0/)
  await refused(
    { ...right, 'join-token-file': join(folder, 'nowhere'), 'join-token': '' },
    'usage',
    /does not exist/,
  )
  const foreign = keysIn(folder, 'foreign', ['n4'])
  await refused({ ...right, ...pkiFlags(foreign, 'n4') }, 'usage', /another authority than --client-ca-file/)
  const halfForeign = {
    ...pkiFlags(foreign, 'n4'),
    'client-ca-file': clusterPkiPaths(join(folder, 'pki')).ca.certificate,
  }
  await refused({ ...right, ...halfForeign }, 'usage', /peer-ca of this process.*--peer-ca-file/)
  await refused({ ...right, join: '127.0.0.1:1' }, 'join', /127\.0\.0\.1:1 does not answer/)
  time.aheadMs = limits.joinTokenMsMax
  await refused(right, 'usage', /expired at/)
  time.aheadMs = 0
  const member = { ...memberOf(members), name: 'n4' }
  await members.changeMembers({ kind: 'add', member, basedOn: members.applied })
  await refused(right, 'usage', /there is a member n4 already/)
})

function memberOf(members: PlannedMembers) {
  const { wantedRole, version, featureLevel, replaces, addedMs } =
    members.named('n1') ?? assert.fail('n1 is there')
  const facts = { wantedRole, version, featureLevel, replaces, addedMs }
  return { ...facts, id: memberId('x', 'n4'), peerAddress: '127.0.0.1:9999', clientAddress: '127.0.0.1:9998' }
}

void test('a server that the authority of the token did not sign is rejected', async (t) => {
  const [one, other] = [await place(t), await place(t)]
  const given = one.flags(await one.token())
  await refused({ ...given, join: other.address }, 'usage', /is not trusted/)
  // An untrusted address is harmless when a trusted one is given too.
  await start({ ...given, join: `${other.address},${one.address}` })
})

void test('a data directory with a cluster or a log cannot join', async (t) => {
  const { flags, token, folder } = await place(t)
  const given = flags(await token())
  const data = join(folder, 'data')
  mkdirSync(join(data, 'log'), { recursive: true })
  await refused(given, 'data-directory', /member\.json is missing/)
  rmSync(join(data, 'log'), { recursive: true })
  claimDirectory(data, { cluster: 'orch', member: 'n4', id: memberId('orch', 'n4'), apiDomain: 'orch.io' })
  await assert.rejects(start(given), /founds a cluster, but --join was given/)
})

void test('a join token authorizes joining only, and joining needs a token', async (t) => {
  const { flags, token, address, folder } = await place(t)
  const paths = clusterPkiPaths(join(folder, 'pki'))
  const given = flags(await token())
  const read = (path: string): string => readFileSync(path, 'utf8')
  const admin = { cert: read(paths.admin.certificate), key: read(paths.admin.key) }
  const bearer = { authorization: `Bearer ${given['join-token'] ?? ''}` }
  const ask = async (method: string, path: string, options: object): Promise<number> => {
    const reply = await ask11(`https://${address}${path}`, null, {
      ca: read(paths.ca.certificate),
      method,
      ...options,
    })
    return reply.status
  }
  assert.equal(await ask('POST', '/cluster/v1/join', {}), 401)
  assert.equal(await ask('POST', '/cluster/v1/join', { ...admin }), 403)
  assert.equal(await ask('POST', '/cluster/v1/join', { headers: bearer }), 400)
  for (const path of [
    '/cluster/v1/status',
    '/cluster/v1/settings',
    '/api/v1/namespaces',
    '/cluster/v1/snapshot',
  ]) {
    assert.equal(await ask('GET', path, { headers: bearer }), 403, path)
  }
  for (const path of ['/cluster/v1/join-tokens', '/cluster/v1/members']) {
    assert.equal(await ask('POST', path, { headers: bearer }), 403, path)
    assert.equal(await ask('POST', path, { ...admin }), 400, path)
    assert.equal(await ask('GET', path, { ...admin }), 405, path)
  }
})

void test('an impersonated holder of a join token, which showed no secret, may not join', async (t) => {
  const { flags, token, address, folder, members, kubeconfig } = await place(t)
  const paths = clusterPkiPaths(join(folder, 'pki'))
  const read = (path: string): string => readFileSync(path, 'utf8')
  const [, id = ''] = (flags(await token())['join-token'] ?? '').split('.')
  const before = members.configuration.members.length
  const body = JSON.stringify({
    ...{ name: 'n4', nonce: 'ab'.repeat(16), clusterName: 'orch', apiDomain: 'orch.io', version: '1.0.0' },
    ...{ peerAddress: '127.0.0.1:7446', clientAddress: '127.0.0.1:6446', featureLevelMax },
    fingerprints: fingerprintsFor(kubeconfig),
  })
  for (const claimed of ['a/b', id, '']) {
    const request = httpsRequest(`https://${address}/cluster/v1/join`, {
      ...{ ca: read(paths.ca.certificate), agent: false, method: 'POST' },
      ...{ cert: read(paths.admin.certificate), key: read(paths.admin.key) },
      headers: {
        ...{ 'content-type': 'application/json', 'impersonate-user': 'x' },
        ...{ 'impersonate-group': 'system:masters', 'impersonate-extra-join-token': claimed },
      },
    })
    request.end(body)
    const [{ statusCode }] = (await once(request, 'response')) as [IncomingMessage]
    assert.equal(statusCode, 403, claimed)
  }
  assert.equal(members.configuration.members.length, before)
})

void test('wrong tokens are rate-limited, and the right one is not', async (t) => {
  const { flags, token, address, folder } = await place(t)
  const given = flags(await token())
  const wrong = (at: number): string =>
    `${'0'.repeat(32)}.${at.toString(16).padStart(12, '0')}.${'0'.repeat(32)}`
  const ca = readFileSync(clusterPkiPaths(join(folder, 'pki')).ca.certificate, 'utf8')
  const { callJoin } = await import('../../src/membership/join-call.ts')
  const random = new SeededRandom(1)
  const statuses: number[] = []
  // One more request is allowed each second, so their number depends on the duration.
  for (const endMs = performance.now() + 60_000; statuses.at(-1) !== 429;) {
    assert.ok(performance.now() < endMs, `in a minute ${statuses.join(' ')}`)
    const reply = await callJoin({ address, authority: ca, token: wrong(random.below(1000)), body: {} })
    statuses.push(reply.kind === 'answer' ? reply.status : 0)
  }
  const allowed = statuses.slice(0, -1)
  assert.ok(allowed.length >= limits.wrongJoinTokensMax, statuses.join(' '))
  assert.ok(
    allowed.every((status) => status === 401),
    statuses.join(' '),
  )
  await start(given)
})
