/*
 * Goal: the endpoints of the Service of the API server are the members that serve, whichever member
 * is killed or removed.
 * Method: three real processes that listen on the loopback address. The test gives their Member
 * objects addresses that endpoints may have, kills a follower and the leader, and removes a member.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { replyOf } from '../support/drivers/api-client.ts'
import type { ApiClient } from '../support/drivers/api-client.ts'
import { ProcessCluster } from '../support/drivers/process-cluster.ts'
import type { MemberProcess } from '../support/drivers/process-cluster.ts'
import { until } from '../support/tools/until.ts'

const namespace = '/api/v1/namespaces/default'
const servicePath = `${namespace}/services/kubernetes`
const slicePath = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes'

type Endpoints = {
  readonly subsets?: readonly { readonly addresses: readonly { readonly ip: string }[] }[]
}
type Slice = { readonly endpoints: readonly { readonly addresses: readonly string[] }[] | null }

/** Returns the addresses of the Endpoints and of the slice. null: they cannot be read now */
async function listed(client: ApiClient): Promise<readonly [string, string] | null> {
  const replies = await Promise.all(
    [`${namespace}/endpoints/kubernetes`, slicePath].map((path) => replyOf(client.get(path))),
  )
  const [endpoints, slice] = replies.map((reply) => (reply?.status === 200 ? reply.text : null))
  if (typeof endpoints !== 'string' || typeof slice !== 'string') return null
  const { subsets = [] } = JSON.parse(endpoints) as Endpoints
  return [
    subsets.flatMap(({ addresses }) => addresses.map(({ ip }) => ip)).join(),
    ((JSON.parse(slice) as Slice).endpoints ?? []).flatMap((one) => one.addresses).join(),
  ]
}

/** Waits until the endpoints are these, as a member sees them. */
async function endpointsAre({ client }: MemberProcess, ...ips: readonly string[]): Promise<void> {
  let seen: readonly [string, string] | null = null
  const expected = ips.join()
  await until(
    `the endpoints are ${expected}`,
    async () => {
      seen = await listed(client)
      return seen !== null && seen[0] === expected && seen[1] === expected
    },
    () => JSON.stringify(seen),
  )
}

void test('the Service of the API server lists the members that serve, after kills of a follower and of the leader, and a removal', async (t) => {
  const cluster = await ProcessCluster.start({ members: 3, domain: 'k8s.io' })
  t.after(() => cluster.remove())
  const leader = await cluster.leader()
  const [follower, other] = cluster.members.filter((member) => member !== leader)
  if (follower === undefined || other === undefined) return assert.fail('three members')
  await endpointsAre(follower)
  assert.equal((await follower.client.get(servicePath)).status, 200)
  const ipOf = ({ name }: MemberProcess): string => `192.0.2.${name.slice(1)}`
  const ipsOf = (...members: readonly MemberProcess[]): readonly string[] => members.map(ipOf).sort()
  const pathOf = ({ name }: MemberProcess): string => `/apis/cluster.k8s.io/v1/members/${name}`
  for (const member of cluster.members) {
    const spec = { clientAddress: `${ipOf(member)}:6443` }
    const { status, text } = await follower.client.patch(pathOf(member), { spec })
    assert.equal(status, 200, text)
  }
  await endpointsAre(follower, ...ipsOf(...cluster.members))
  await other.stop('SIGKILL')
  await endpointsAre(follower, ...ipsOf(leader, follower))
  other.start()
  await other.waitReady()
  await endpointsAre(follower, ...ipsOf(...cluster.members))
  await leader.stop('SIGKILL')
  await endpointsAre(follower, ...ipsOf(follower, other))
  await until('the member is removed', async () => {
    const reply = await replyOf(follower.client.delete(pathOf(leader)))
    return reply?.status === 200 || reply?.status === 404
  })
  assert.equal((await follower.client.delete(servicePath)).status, 200)
  await until(
    'the Service is back',
    async () => (await replyOf(follower.client.get(servicePath)))?.status === 200,
  )
  await endpointsAre(follower, ...ipsOf(follower, other))
})
