/*
 * Goal: feature gates and the runtime configuration are parsed correctly, and invalid ones are
 * rejected in one line with the remedy.
 * Method: command lines, table by table.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Config } from '../../../../src/config/config.ts'
import { ConfigError } from '../../../../src/config/errors.ts'
import { helpText } from '../../../../src/config/help.ts'
import { loadConfig } from '../../../../src/config/load.ts'

function load(...args: readonly string[]): Config {
  const loaded = loadConfig({ args: ['--in-memory', ...args], readFile: () => '' })
  if (loaded.kind !== 'config') return assert.fail('a configuration')
  return loaded.config
}

function refusal(arg: string): string {
  try {
    load(arg)
  } catch (cause) {
    if (!(cause instanceof ConfigError)) throw cause
    assert.doesNotMatch(cause.message, /\n/)
    return cause.message
  }
  return assert.fail(`${arg} was accepted`)
}

const isOn = (...args: readonly string[]): Config['feature-gates']['isOn'] =>
  load(...args)['feature-gates'].isOn

void test('spec 9.7: each gate that is not named has its own default, whatever its stage', () => {
  assert.deepEqual(isOn(), {
    ...{ APIListChunking: true, APIPriorityAndFairness: true, OpenAPIV3: true, RemainingItemCount: true },
    ...{ ServerSideFieldValidation: true, APIServerIdentity: true },
  })
  assert.equal(isOn('--feature-gates=APIListChunking=false').APIListChunking, false)
  const two = isOn(
    '--feature-gates=OpenAPIV3=false,RemainingItemCount=f',
    '--feature-gates',
    'OpenAPIV3=true',
  )
  assert.deepEqual([two.OpenAPIV3, two.RemainingItemCount], [true, false])
})

/** The release of the API in which each gate became GA. */
const gaSince = {
  ...{
    BoundServiceAccountTokenVolume: '1.22',
    CSIStorageCapacity: '1.24',
    CSRDuration: '1.24',
    DryRun: '1.19',
  },
  ...{ RootCAConfigMap: '1.21', ServerSideApply: '1.22', WarningHeaders: '1.22', WatchBookmark: '1.17' },
}

void test('spec 9.7: a gate that is GA may be named, with a warning, but not switched off', () => {
  const { warnings } = load('--feature-gates=DryRun=true,WatchBookmark=true')['feature-gates']
  assert.deepEqual(
    warnings.map((text) => text.split(' ')[2]),
    ['DryRun', 'WatchBookmark'],
  )
  for (const [name, since] of Object.entries(gaSince)) {
    const words = `cannot switch ${name} off: it is GA since ${since}`
    assert.ok(refusal(`--feature-gates=${name}=false`).includes(words), name)
  }
})

void test('all gates of a stage are switched by one name, except those that are named individually', () => {
  const gates = isOn('--feature-gates=AllBeta=false,OpenAPIV3=true')
  assert.deepEqual(gates, {
    ...{ APIListChunking: false, APIPriorityAndFairness: false, OpenAPIV3: true, RemainingItemCount: false },
    ...{ ServerSideFieldValidation: true, APIServerIdentity: true },
  })
  assert.equal(isOn('--feature-gates=AllAlpha=false').ServerSideFieldValidation, false)
})

void test('an unknown feature gate is an error that names the nearest one, and so is a gate without a valid value', () => {
  const message = refusal('--feature-gates=ApiListChunkin=true')
  assert.equal(
    message,
    '--feature-gates (command line) has no gate "ApiListChunkin": the nearest is APIListChunking, see --help',
  )
  assert.match(refusal('--feature-gates=Quux=true'), /has no gate "Quux": see --help$/)
  assert.match(refusal('--feature-gates=OpenAPIV3=maybe'), /must be OpenAPIV3=true or OpenAPIV3=false/)
  assert.match(refusal('--feature-gates=OpenAPIV3'), /must be NAME=true or NAME=false/)
})

void test('help lists every gate that can be switched with its stage and default, and the names of the others', () => {
  const help = helpText()
  assert.match(help, /APIListChunking=true\|false \(Beta since 1\.9, default true\)/)
  assert.match(help, /ServerSideFieldValidation=true\|false \(Alpha since 1\.23, default true\)/)
  for (const name of Object.keys(isOn()))
    assert.match(
      help,
      new RegExp(`${name}=true\\|false \\(\\w+ since 1\\.\\d+, default (true|false)\\)`),
      name,
    )
  for (const name of Object.keys(gaSince)) assert.ok(help.includes(name), name)
  assert.doesNotMatch(help, /\[object/)
})

void test('spec 9.3: keys of the runtime configuration are versions, resources and stages', () => {
  const config = load(
    '--runtime-config=api/beta=false,v1,storage.orch.io/v1beta1=true,apps/v1/daemonsets=false',
  )
  const { stages, versions, resources } = config['runtime-config']
  assert.deepEqual([...stages], [['beta', false]])
  assert.deepEqual(versions, [
    { key: 'v1', isOn: true, group: '', version: 'v1' },
    { key: 'storage.orch.io/v1beta1', isOn: true, group: 'storage.orch.io', version: 'v1beta1' },
  ])
  assert.deepEqual(resources, [
    { key: 'apps/v1/daemonsets', isOn: false, group: 'apps', version: 'v1', resource: 'daemonsets' },
  ])
  const core = load('--runtime-config=v1/secrets=false', '--runtime-config=api/v1=true')['runtime-config']
  assert.deepEqual(core.versions, [{ key: 'api/v1', isOn: true, group: '', version: 'v1' }])
  assert.deepEqual(core.resources[0]?.resource, 'secrets')
})

void test('an invalid runtime configuration is rejected', () => {
  for (const [given, expected] of [
    ['storage', /accepts api\/all, .*, not "storage"/],
    ['a/b', /not "a\/b"/],
    ['a/v1/b/c', /not "a\/v1\/b\/c"/],
    ['api/some', /not "api\/some"/],
    ['v1=maybe', /must be v1=true or v1=false/],
    ['api/all=false', /serves nothing: enable some versions/],
  ] as const) {
    assert.match(refusal(`--runtime-config=${given}`), expected)
  }
})
