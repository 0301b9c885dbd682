/*
 * Goal: kubectl shows, lists and selects the events of both API groups; events expire, also after a
 * failover.
 * Method: a real kubectl against a real process in each domain; three real processes with a short
 * `--event-ttl`, of which the leader is killed.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { namesOf } from '../../src/api/metadata/names.ts'
import { Kubectl } from '../support/drivers/kubectl.ts'
import { ProcessCluster } from '../support/drivers/process-cluster.ts'
import { until } from '../support/tools/until.ts'
import { someDomains } from '../support/fixtures/variants.ts'

const kubectl = Kubectl.find()

for (const domain of someDomains) {
  void describe(`kubectl and events in ${domain}`, () => {
    const group = namesOf(domain).group('events')
    let cluster: ProcessCluster

    before(async () => {
      cluster = await ProcessCluster.start({
        members: 1,
        domain,
        config: { 'data-dir': '', 'in-memory': true },
      })
    })
    after(() => cluster.remove())

    const ok = (args: readonly string[], input?: string): Promise<string> =>
      kubectl.ok(cluster.kubeconfig, args, input)

    void test('events of both groups are described, listed and selected', async () => {
      await ok(['run', 'web', '--image=registry.test/app'])
      const uid = await ok(['get', 'pod', 'web', '-o', 'jsonpath={.metadata.uid}'])
      const pod = { apiVersion: 'v1', kind: 'Pod', namespace: 'default', name: 'web', uid }
      const now = new Date().toISOString()
      const older = {
        ...{ apiVersion: 'v1', kind: 'Event', metadata: { name: 'web.1', namespace: 'default' } },
        ...{ involvedObject: pod, type: 'Warning', reason: 'BackOff', message: 'it failed', count: 3 },
        ...{ source: { component: 'nodeagent', host: 'n1' }, firstTimestamp: now, lastTimestamp: now },
      }
      const newer = {
        ...{ apiVersion: `${group}/v1`, kind: 'Event', metadata: { name: 'web.2', namespace: 'default' } },
        ...{ regarding: pod, type: 'Normal', reason: 'Scheduled', note: 'it has a node', action: 'Binding' },
        ...{ eventTime: now, reportingController: 'example.com/scheduler', reportingInstance: 's1' },
      }
      await ok(['create', '-f', '-'], `${JSON.stringify(older)}\n${JSON.stringify(newer)}`)
      const text = await ok(['describe', 'pod', 'web'])
      assert.match(text, /^ +Warning +BackOff +\S+.* nodeagent +it failed$/m)
      assert.match(text, /^ +Normal +Scheduled +\S+ +example\.com\/scheduler +it has a node$/m)
      const listed = await ok(['get', 'events'])
      assert.match(listed, /^LAST SEEN +TYPE +REASON +OBJECT +MESSAGE\n/)
      assert.match(listed, /^\S+ +Warning +BackOff +pod\/web +it failed$/m)
      assert.match(await ok(['get', 'ev', '-o', 'wide']), / nodeagent, n1 +it failed +\S+ +3 +web\.1$/m)
      const chosen = ['get', `events.${group}`, '--field-selector=reportingController=example.com/scheduler']
      assert.equal(await ok([...chosen, '-o', 'name']), `event.${group}/web.2\n`)
      assert.match(
        await ok(['events', '--for', 'pod/web', '--types=Warning']),
        / BackOff +Pod\/web +it failed$/m,
      )
      const beta = await kubectl.run(cluster.kubeconfig, ['get', `events.v1beta1.${group}`, 'web.1'])
      assert.match(beta.stderr, /v1beta1 Event is deprecated in v1\.22\+, unavailable in v1\.25\+/)
      await ok(['delete', `events.${group}`, 'web.1'])
      assert.doesNotMatch(await ok(['describe', 'pod', 'web']), /BackOff/)
    })
  })
}

void test('events expire, also after a failover, and other objects stay', async (t) => {
  const cluster = await ProcessCluster.start({ members: 3, config: { 'event-ttl': '10s' } })
  t.after(() => cluster.remove())
  const leader = await cluster.leader()
  const rest = cluster.members.filter((member) => member !== leader)
  const [other] = rest
  assert.ok(other !== undefined)
  const core = '/api/v1/namespaces/default'
  const make = (plural: string, object: object) => {
    return other.client.call('POST', `${core}/${plural}`, { body: JSON.stringify(object) })
  }
  const made = [
    await make('configmaps', { metadata: { name: 'kept' } }),
    await make('events', { metadata: { name: 'seen' }, involvedObject: { namespace: 'default' } }),
  ]
  assert.deepEqual(
    made.map(({ status }) => status),
    [201, 201],
  )
  await leader.stop('SIGKILL')
  let last = ''
  await until(
    'the event is gone',
    async () => {
      const { status, text } = await other.client.get(`${core}/events/seen?resourceVersion=0`)
      last = text
      return status === 404
    },
    () => last,
    500,
  )
  assert.equal((await other.client.get(`${core}/configmaps/kept`)).status, 200)
  const counts = await Promise.all(
    rest.map(async ({ client }) => {
      const { text } = await client.get('/metrics')
      return Number(/^orch_events_expired_total (\d+)$/m.exec(text)?.[1])
    }),
  )
  assert.equal(Math.max(...counts), 1)
})
