/*
 * Goal: the token and the state of the cluster decide which member may join; each refusal names the
 * remedy.
 * Method: a valid request, made invalid in one respect at a time.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { initialConfiguration, logIndex, memberTextBytesMax, nodeId } from '../../../../raft/index.ts'
import type { JoinRecord } from '../../../../src/membership/join-record.ts'
import { recordFields, recordOf } from '../../../../src/membership/join-record.ts'
import type { JoinRequest } from '../../../../src/membership/join-request.ts'
import { joinRequestOf } from '../../../../src/membership/join-request.ts'
import { JoinError, judgeJoin, seatProblem } from '../../../../src/membership/join-rules.ts'
import type { JoinErrorCode, JoinKnowledge } from '../../../../src/membership/join-rules.ts'
import { memberInfo } from '../../../../fixtures/fake-consensus.ts'
import { cluster, prints, request, seat, someId } from '../../../support/join-service-kit.ts'

const members = ['n1', 'n2', 'n3'].map((name, at) => memberInfo(at + 1, name))
const known: JoinKnowledge = { ...cluster, version: '1.0.0', members, nowMs: 5000 }
const record: JoinRecord = { id: 'aa', secretHash: '00', seat, expiresMs: 10_000, joining: null }
const joining = { nonce: request.nonce, memberId: someId, basedOn: logIndex(7), joined: false }
const there = { ...known, members: [...members, { ...seat, id: someId }] }

void test('the first attempt has no member id yet, and each later attempt of the same process has the id of the first', () => {
  assert.equal(judgeJoin(record, request, known), null)
  assert.equal(judgeJoin({ ...record, joining }, request, known)?.memberId, someId)
  assert.equal(judgeJoin({ ...record, joining }, request, there)?.memberId, someId)
  const late = { ...there, nowMs: 20_000 }
  const reported = { ...record, joining: { ...joining, joined: true } }
  assert.equal(judgeJoin(reported, request, late)?.memberId, someId)
})

const replacing = { ...record, seat: { ...seat, replaces: { name: 'n9', id: nodeId(99) } } }
const refusals: readonly {
  readonly what: string
  readonly code: JoinErrorCode
  readonly says: RegExp
  readonly record?: JoinRecord
  readonly request?: Partial<JoinRequest>
  readonly known?: JoinKnowledge
}[] = [
  {
    what: 'an expired token',
    code: 'expired',
    says: /1970-01-01T00:00:10/,
    known: { ...known, nowMs: 10_000 },
  },
  {
    what: 'another process',
    code: 'used',
    says: /once/,
    record: { ...record, joining: { ...joining, nonce: 'x' } },
  },
  {
    what: 'a removed member',
    code: 'removed',
    says: /has been removed/,
    record: { ...record, joining: { ...joining, joined: true } },
  },
  { what: 'another name', code: 'other-member', says: /--name n4/, request: { name: 'n5' } },
  {
    what: 'another peer address',
    code: 'other-member',
    says: /--peer-address 10\.0\.0\.4:7443/,
    request: { peerAddress: '1.1.1.1:1' },
  },
  {
    what: 'another client address',
    code: 'other-member',
    says: /--advertise-address/,
    request: { clientAddress: '' },
  },
  {
    what: 'another API domain',
    code: 'other-cluster',
    says: /--api-domain orch\.io/,
    request: { apiDomain: 'k8s.io' },
  },
  {
    what: 'another cluster name',
    code: 'other-cluster',
    says: /--cluster-name c/,
    request: { clusterName: 'd' },
  },
  {
    what: 'another client authority',
    code: 'other-keys',
    says: /--client-ca-file/,
    request: { fingerprints: { ...prints, 'client-ca': 'ef' } },
  },
  {
    what: 'no peer authority',
    code: 'other-keys',
    says: /--peer-ca-file/,
    request: { fingerprints: { 'client-ca': prints['client-ca'] } },
  },
  {
    what: 'an old program',
    code: 'other-rules',
    says: /such as 1\.0\.0/,
    request: { featureLevelMax: 2, version: '0.9.0' },
  },
  {
    what: 'name taken',
    code: 'name-taken',
    says: /orchctl member remove n4/,
    known: { ...known, members: [...members, { ...seat, id: nodeId(4) }] },
  },
  {
    what: 'address taken',
    code: 'address-taken',
    says: /10\.0\.0\.4:7443 is the address of n5.*orchctl member remove n5/,
    known: { ...known, members: [...members, { ...seat, id: nodeId(5), name: 'n5' }] },
  },
  {
    what: 'the member to replace is gone',
    code: 'replaced-gone',
    says: /n9.*orchctl member add n4/,
    record: replacing,
  },
]

for (const { what, code, says, ...wrong } of refusals) {
  void test(`a join is refused in one line with the remedy: ${what}`, () => {
    assert.throws(
      () => judgeJoin(wrong.record ?? record, { ...request, ...wrong.request }, wrong.known ?? known),
      (cause: unknown) => {
        assert.ok(cause instanceof JoinError)
        assert.equal(cause.code, code)
        assert.match(cause.message, says)
        assert.doesNotMatch(cause.message, /\n/)
        assert.match(cause.message, /orchctl|start with|start the version|give --/)
        return true
      },
    )
  })
}

void test('a program that supports a higher feature level than that of the cluster may join', () => {
  assert.equal(judgeJoin(record, { ...request, featureLevelMax: 9 }, known), null)
})

function without(fields: object, name: string): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([one]) => one !== name))
}

void test('a record survives encoding, and malformed records are detected', () => {
  for (const one of [record, replacing, { ...record, joining }]) {
    const fields = JSON.parse(JSON.stringify(recordFields(one))) as Record<string, unknown>
    assert.deepEqual(recordOf('aa', fields), one)
    for (const name of ['secretHash', 'expiresMs', 'seat']) {
      assert.equal(recordOf('aa', without(fields, name)), null)
    }
  }
  const wrong = { ...recordFields(record), joining: { nonce: 'x', memberId: '1e5', joined: true } }
  assert.equal(recordOf('aa', wrong), null)
})

void test('a request with a missing field or another type is rejected', () => {
  assert.deepEqual(joinRequestOf(JSON.parse(JSON.stringify(request))), request)
  for (const name of Object.keys(request)) {
    const rest = without(request, name)
    assert.equal(joinRequestOf(rest), null, name)
    assert.equal(joinRequestOf({ ...rest, [name]: [] }), null, name)
  }
  for (const nonce of ['', 'x'.repeat(32), 'AB'.repeat(16)])
    assert.equal(joinRequestOf({ ...request, nonce }), null)
  for (const text of ['x'.repeat(memberTextBytesMax + 1), '\u00e9'.repeat(memberTextBytesMax / 2 + 1)]) {
    for (const name of ['version', 'peerAddress', 'clientAddress'])
      assert.equal(joinRequestOf({ ...request, [name]: text }), null, name)
  }
  for (const featureLevelMax of [-1, 0.5, 2 ** 16, 2 ** 50])
    assert.equal(joinRequestOf({ ...request, featureLevelMax }), null)
})

void test('a token is created only for a free name, free addresses and a voter to replace', () => {
  const configuration = initialConfiguration(members)
  const problem = (change: object, replaces: string | null = null): string | undefined =>
    seatProblem({ ...seat, ...change }, replaces, configuration)?.kind
  assert.equal(problem({}), undefined)
  assert.equal(problem({ name: 'n2' }), 'name-taken')
  assert.equal(problem({ peerAddress: '127.0.0.1:7444' }), 'address-taken')
  assert.equal(problem({ clientAddress: '127.0.0.1:6444' }), 'address-taken')
  assert.equal(
    problem({ clientAddress: '127.0.0.1:6444' }, 'n2'),
    undefined,
    'its replacement may use the address',
  )
  assert.equal(problem({}, 'n7'), 'no-such-voter')
  const learner = { ...memberInfo(5, 'n5'), role: 'learner', wantedRole: 'learner' } as const
  const withLearner = initialConfiguration([...members, learner])
  assert.equal(seatProblem(seat, 'n5', withLearner)?.kind, 'no-such-voter')
})
