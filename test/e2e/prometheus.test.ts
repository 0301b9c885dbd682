/*
 * Goal: the packaged rules and the dashboard show what happens to a cluster.
 * Method: a real Prometheus scrapes three real members with the rights of `system:monitoring`; the
 * leader is killed and started again.
 */
import assert from 'node:assert/strict'
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { clusterPkiPaths } from '../../src/pki/cluster-pki.ts'
import { ProcessCluster } from '../support/drivers/process-cluster.ts'
import { Prometheus, checkRules, missingPrometheus } from '../support/drivers/prometheus.ts'
import { dashboardQueries, packagedRules, rulesPath } from '../support/fixtures/monitoring-files.ts'
import { until } from '../support/tools/until.ts'

const missing = missingPrometheus()
const needsPrometheus = {
  skip: missing === null ? false : `needs prometheus (Debian package prometheus): ${missing}`,
}
const job = 'orch-apiserver'
const configMaps = '/api/v1/namespaces/default/configmaps'

/** Replaces the variables of an expression as Grafana does; the scrape interval is 1 s here. */
function inPlace(expr: string): string {
  return expr.replaceAll('$job', job).replaceAll('$__rate_interval', '30s')
}

void test('promtool accepts the packaged rules', needsPrometheus, () => {
  assert.match(checkRules(rulesPath), new RegExp(`SUCCESS: ${packagedRules().length} rules found`))
})

void test('alerts and dashboard follow the failover of a cluster', needsPrometheus, async (t) => {
  const cluster = await ProcessCluster.prepare({ members: 3 })
  t.after(() => cluster.remove())
  appendFileSync(join(cluster.directory, 'tokens.csv'), 'scrape,prometheus,u3,"system:monitoring"\n')
  for (const member of cluster.members) member.start()
  await cluster.waitReady()
  // The rules differ from the packaged ones only in how long a member must be down, and in when a
  // certificate expires soon and for how long that must hold.
  const sooner = join(cluster.directory, 'rules.yml')
  const rulesText = readFileSync(rulesPath, 'utf8')
  const downSooner = rulesText.replace(
    /(alert: OrchMemberDown\n.*\n +for: )1m\n/,
    (_all, start: string) => `${start}2s\n`,
  )
  const soonerText = downSooner.replace(
    /(alert: OrchCertificateExpiresSoon\n.* < )2592000(\n +for: )1h\n/,
    (_all, start: string, next: string) => `${start}${400 * 86_400}${next}2s\n`,
  )
  assert.ok(downSooner !== rulesText && soonerText !== downSooner)
  writeFileSync(sooner, soonerText)
  const prometheus = await Prometheus.start(cluster.directory, {
    targets: cluster.members.map(({ url }) => new URL(url).host),
    caPath: clusterPkiPaths(join(cluster.directory, 'pki')).ca.certificate,
    ...{ token: 'scrape', rulesPath: sooner },
  })
  t.after(() => prometheus.stop())

  // Each query has data only if there is traffic of each kind.
  const leader = await cluster.leader()
  const events: string[] = []
  const watch = leader.client.watch(`${configMaps}?watch=1`, (event) => events.push(JSON.stringify(event)))
  let round = 0
  const traffic = async (): Promise<void> => {
    const from = cluster.members.find((member) => member.running && member !== leader) ?? leader
    const { status, text } = await from.client.post(configMaps, { metadata: { name: `c${round++}` } })
    assert.ok([201, 503, 504].includes(status), text)
    await from.client.get(configMaps)
  }

  const rules = (): Promise<string> =>
    prometheus.rules().then((all) => JSON.stringify(all.filter(({ health }) => health !== 'ok')))
  await until('all rules were evaluated without an error', async () => (await rules()) === '[]', rules)
  assert.deepEqual(
    (await prometheus.rules()).map(({ name }) => name).sort(),
    packagedRules()
      .map(({ name }) => name)
      .sort(),
  )
  for (const { panel, expr } of dashboardQueries()) {
    const seen = async (): Promise<number> => {
      await traffic()
      return (await prometheus.query(inPlace(expr))).filter(({ value }) => value[1] !== 'NaN').length
    }
    await until(
      `panel "${panel}" shows data`,
      async () => (await seen()) > 0,
      () => expr,
      250,
    )
  }
  for (const { name, kind } of packagedRules()) {
    if (kind !== 'record') continue
    const recorded = async (): Promise<boolean> => {
      await traffic()
      return (await prometheus.query(name)).length > 0
    }
    await until(`${name} is recorded`, recorded, () => name, 250)
  }
  for (const { name, kind, expr } of packagedRules())
    if (kind === 'alert')
      await prometheus.query(expr).catch((cause: unknown) => assert.fail(`${name}: ${String(cause)}`))

  const expiring = async (): Promise<readonly string[]> =>
    (await prometheus.alerts())
      .filter(({ labels }) => labels['alertname'] === 'OrchCertificateExpiresSoon')
      .filter(({ labels, state }) => labels['use'] === 'server' && state === 'firing')
      .map(({ labels }) => labels['instance'] ?? '')
  const everyMember = cluster.members.map(({ url }) => new URL(url).host).sort()
  await until(
    'an alert names the server certificate of each member',
    async () => [...(await expiring())].sort().join() === everyMember.join(),
    async () => JSON.stringify(await prometheus.alerts()),
  )
  const near = (await prometheus.alerts()).filter(
    ({ labels }) => labels['alertname'] === 'OrchCertificateExpires',
  )
  assert.deepEqual(near, [], 'new certificates are valid for longer')

  const instance = new URL(leader.url).host
  const down = async (): Promise<readonly string[]> =>
    (await prometheus.alerts())
      .filter(({ labels }) => labels['alertname'] === 'OrchMemberDown' && labels['instance'] === instance)
      .map(({ state }) => state)
  const shown = async (): Promise<string> => JSON.stringify(await prometheus.alerts())
  const leaders = async (): Promise<readonly (string | undefined)[]> =>
    (await prometheus.query(`orch_raft_is_leader{job="${job}"} == 1`)).map(({ metric }) => metric['instance'])
  assert.deepEqual(await down(), [])
  await until('the leader is shown', async () => (await leaders()).join() === instance, shown)

  await leader.stop('SIGKILL')
  await until('the alert fires', async () => (await down()).join() === 'firing', shown)
  const isOtherShown = async (): Promise<boolean> => {
    const now = await leaders()
    return now.length === 1 && now[0] !== instance
  }
  await until('another leader is shown', isOtherShown, shown)
  const quorum = (await prometheus.alerts()).filter(
    ({ labels, state }) => labels['alertname'] === 'OrchQuorumLost' && state === 'firing',
  )
  assert.deepEqual(quorum, [], 'two of three members are a majority')
  await watch.ended

  leader.start()
  await leader.waitReady()
  await until('the alert is resolved', async () => (await down()).length === 0, shown)
})
