/*
 * Goal: a member without a quorum reports that, acknowledges nothing, and recovers when the others
 * return.
 * Method: two of three real members are killed; the third gets a write, reads and requests for its
 * health, and has a watch.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ProcessCluster } from '../support/drivers/process-cluster.ts'
import { until } from '../support/tools/until.ts'

const path = '/api/v1/namespaces/default/configmaps'

void test('a member without a quorum is not ready, serves only local reads, refuses the rest with typed errors and ends its watches', async (t) => {
  const cluster = await ProcessCluster.start({ members: 3, config: { 'request-timeout': '3s' } })
  t.after(() => cluster.remove())
  const [left, ...others] = cluster.members
  if (left === undefined) return assert.fail('three members')
  /**
   * Creates an object, and repeats the request: it times out after 3 s here, and an election can
   * take longer.
   */
  const make = async (name: string): Promise<void> => {
    let last = ''
    const isThere = async (): Promise<boolean> => {
      const { status, text } = await left.client.post(path, { metadata: { name } })
      const isMade = status === 201 || (last !== '' && status === 409)
      last = text
      return isMade
    }
    await until(`${name} is there`, isThere, () => last)
  }
  await make('before')
  let reported = 0
  const watch = left.client.watch(`${path}?watch=1&resourceVersion=0`, () => reported++)
  await until('the watch returns the existing objects', () => reported > 0)
  await Promise.all(others.map((member) => member.stop('SIGKILL')))

  const lostMs = performance.now()
  const written = await left.client.post(path, { metadata: { name: 'during' } })
  assert.ok([503, 504].includes(written.status), written.text)
  assert.equal((JSON.parse(written.text) as { kind: string }).kind, 'Status')
  const recent = await left.client.get(`${path}/before`)
  assert.ok([503, 504].includes(recent.status), recent.text)
  assert.equal((await left.client.get(`${path}/before?resourceVersion=0`)).status, 200, 'any version will do')
  await until('it is not ready', async () => !(await left.isReady()))
  let livez = ''
  await until(
    'it is alive, as a restart would not help',
    async () => {
      const { status, text } = await left.client.get('/livez?verbose')
      livez = text
      return status === 200
    },
    () => livez,
  )
  await watch.ended
  console.log(
    `# the watch ended ${((performance.now() - lostMs) / 1000).toFixed(1)} s after the quorum was lost`,
  )

  for (const member of others) member.start()
  await cluster.waitReady()
  await make('after')
  let during = 0
  await until(
    'the error reports an unknown outcome, or no effect',
    async () => [200, 404].includes((during = (await left.client.get(`${path}/during`)).status)),
    () => String(during),
  )
  if (written.status === 503) assert.equal(during, 404)
})
