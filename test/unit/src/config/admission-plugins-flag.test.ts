/*
 * Goal: the flags select admission plugins as upstream does: enabled ones in addition to the
 * default, disabled ones out of it, in a fixed order, and unknown names refused with the nearest.
 * Method: command lines, table by table.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  ADMISSION_PLUGINS,
  DEFAULT_ADMISSION_PLUGINS,
  enabledPlugins,
} from '../../../../src/config/admission-plugins-flag.ts'
import { ConfigError } from '../../../../src/config/errors.ts'
import { loadConfig } from '../../../../src/config/load.ts'

function enabled(...args: readonly string[]): readonly string[] {
  const loaded = loadConfig({ args: ['--in-memory', ...args], readFile: () => '' })
  if (loaded.kind !== 'config') return assert.fail('loadConfig returned no configuration')
  return enabledPlugins(loaded.config)
}

void test('spec 5.9: the plugins of upstream 1.24 run by default, in its order', () => {
  assert.deepEqual(enabled(), [
    'NamespaceLifecycle',
    'LimitRanger',
    'ServiceAccount',
    'TaintNodesByCondition',
    'PodSecurity',
    'Priority',
    'DefaultTolerationSeconds',
    'DefaultStorageClass',
    'StorageObjectInUseProtection',
    'PersistentVolumeClaimResize',
    'RuntimeClass',
    'CertificateApproval',
    'CertificateSigning',
    'CertificateSubjectRestriction',
    'DefaultIngressClass',
    'MutatingAdmissionWebhook',
    'ValidatingAdmissionWebhook',
    'ResourceQuota',
  ])
})

void test('spec 5.9: enabled plugins are added and disabled ones removed, whatever the order given', () => {
  const without = (name: string): readonly string[] => DEFAULT_ADMISSION_PLUGINS.filter((one) => one !== name)
  for (const [args, expected] of [
    [['--disable-admission-plugins=PodSecurity'], without('PodSecurity')],
    // Absent plugins are disabled already; upstream accepts them too.
    [['--disable-admission-plugins=AlwaysDeny,PodSecurityPolicy'], DEFAULT_ADMISSION_PLUGINS],
    [['--enable-admission-plugins=ResourceQuota'], DEFAULT_ADMISSION_PLUGINS],
    [['--enable-admission-plugins='], DEFAULT_ADMISSION_PLUGINS],
  ] as const)
    assert.deepEqual(enabled(...args), expected, args.join())
  const all = ADMISSION_PLUGINS.filter((name) => name !== 'ResourceQuota').reverse()
  assert.deepEqual(
    enabled(`--enable-admission-plugins=${all.join(', ')}`, '--disable-admission-plugins', 'ResourceQuota'),
    ADMISSION_PLUGINS.filter((name) => name !== 'ResourceQuota'),
  )
})

void test('spec 5.9: unknown plugins are refused with the nearest or the names of all, and so are plugins that this server lacks or that both flags name', () => {
  for (const [args, words] of [
    [['--enable-admission-plugins=PodSecurty'], 'has no plugin "PodSecurty": the nearest is PodSecurity;'],
    [['--disable-admission-plugins=limitranger'], 'the nearest is LimitRanger;'],
    [['--enable-admission-plugins=Kyverno'], 'has no plugin "Kyverno": the plugins are AlwaysAdmit,'],
    [['--enable-admission-plugins=PodSecurityPolicy'], 'PodSecurityPolicy, which this server does not have'],
    [
      ['--enable-admission-plugins=Priority,PodSecurity', '--disable-admission-plugins=PodSecurity'],
      '--disable-admission-plugins both name PodSecurity: omit one of them',
    ],
  ] as const) {
    assert.throws(
      () => enabled(...args),
      (cause) => {
        assert.ok(cause instanceof ConfigError)
        assert.ok(cause.message.includes(words), cause.message)
        return true
      },
    )
  }
})
