/*
 * Goal: helm installs, upgrades, rolls back and uninstalls a chart as a user with the role `admin`
 * in one namespace, and is refused everywhere else.
 * Method: a real helm and a real process; the user is a service account with a token.
 */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Helm } from '../support/drivers/helm.ts'
import { Kubectl } from '../support/drivers/kubectl.ts'
import { ProcessCluster } from '../support/drivers/process-cluster.ts'

const kubectl = Kubectl.find()

/**
 * Objects of kinds that the role `admin` permits, named after the release, and on request a
 * ClusterRole, which it does not permit.
 */
const templates = {
  'config-map.yaml': `apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}", labels: {app: "{{ .Chart.Name }}"}}
data: {greeting: "{{ .Values.greeting }}"}
`,
  'secret.yaml': `apiVersion: v1
kind: Secret
metadata: {name: "{{ .Release.Name }}"}
stringData: {password: "{{ .Values.greeting }}"}
`,
  'access.yaml': `apiVersion: v1
kind: ServiceAccount
metadata: {name: "{{ .Release.Name }}"}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: "{{ .Release.Name }}"}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: "{{ .Release.Name }}"}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: "{{ .Release.Name }}"}
subjects: [{kind: ServiceAccount, name: "{{ .Release.Name }}", namespace: "{{ .Release.Namespace }}"}]
`,
  'cluster.yaml': `{{ if .Values.cluster }}
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: "{{ .Release.Name }}"}
rules: [{apiGroups: [""], resources: [secrets], verbs: ["*"]}]
{{ end }}
`,
}

function writeChart(directory: string): string {
  const chart = join(directory, 'chart')
  mkdirSync(join(chart, 'templates'), { recursive: true })
  writeFileSync(join(chart, 'Chart.yaml'), 'apiVersion: v2\nname: shop\nversion: 0.1.0\n')
  writeFileSync(join(chart, 'values.yaml'), 'greeting: hello\ncluster: false\n')
  for (const [name, text] of Object.entries(templates)) writeFileSync(join(chart, 'templates', name), text)
  return chart
}

void test('helm manages a release as a user with the role admin in one namespace', async (t) => {
  const scratch = mkdtempSync(join(tmpdir(), 'orch-helm-'))
  t.after(() => rmSync(scratch, { recursive: true, force: true }))
  const helm = Helm.find(scratch)
  const chart = writeChart(scratch)
  const cluster = await ProcessCluster.start({ members: 1, domain: 'k8s.io' })
  t.after(() => cluster.remove())
  const admin = (args: readonly string[]): Promise<string> => kubectl.ok(cluster.kubeconfig, args)
  await admin(['create', 'namespace', 'shop'])
  await admin(['create', 'serviceaccount', 'deployer', '-n', 'shop'])
  const binding = ['create', 'rolebinding', 'deployer', '-n', 'shop', '--clusterrole=admin']
  await admin([...binding, '--serviceaccount=shop:deployer'])
  const token = (await admin(['create', 'token', 'deployer', '-n', 'shop'])).trim()
  const kubeconfig = join(scratch, 'deployer.kubeconfig')
  const ca = Buffer.from(cluster.credentials.ca).toString('base64')
  const server = cluster.member('n1').url
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'c' },
      clusters: [{ name: 'c', cluster: { server, 'certificate-authority-data': ca } }],
      users: [{ name: 'deployer', user: { token } }],
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'deployer', namespace: 'shop' } }],
    }),
    { mode: 0o600 },
  )
  const ok = (...args: readonly string[]): Promise<string> => helm.ok(kubeconfig, args)
  const greeting = (): Promise<string> =>
    admin(['get', 'configmap', 'web', '-n', 'shop', '-o=jsonpath={.data.greeting}'])

  assert.match(await ok('install', 'web', chart), /STATUS: deployed/)
  assert.equal(await greeting(), 'hello')
  await ok('upgrade', 'web', chart, '--set', 'greeting=welcome')
  assert.equal(await greeting(), 'welcome')
  await ok('rollback', 'web', '1')
  assert.equal(await greeting(), 'hello')
  assert.match(await ok('list'), /web\s+shop\s+3\s/)
  assert.match(await ok('history', 'web'), /Rollback to 1/)

  const wide = await helm.run(kubeconfig, ['install', 'wide', chart, '--set', 'cluster=true'])
  assert.equal(wide.code, 1)
  assert.match(
    wide.output,
    /"system:serviceaccount:shop:deployer" cannot (get|create) resource "clusterroles"/,
  )
  const elsewhere = await helm.run(kubeconfig, ['install', 'web', chart, '-n', 'default'])
  assert.equal(elsewhere.code, 1)
  assert.match(
    elsewhere.output,
    /"system:serviceaccount:shop:deployer" cannot get .* in the namespace "default"/,
  )

  await ok('uninstall', 'web')
  const kinds = 'configmaps,secrets,serviceaccounts,roles,rolebindings'
  const left = await admin(['get', kinds, '-n', 'shop', '-o=jsonpath={.items[*].metadata.name}'])
  assert.doesNotMatch(left, /\bweb\b/)
})
