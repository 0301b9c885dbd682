/*
 * Goal: section exec of a user is read as client-go 1.24 reads it.
 * Method: one valid section and changes of it.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CredentialError } from '../../../../src/credentials/errors.ts'
import { parseExec } from '../../../../src/credentials/exec-config.ts'
import type { ExecConfig } from '../../../../src/credentials/exec-config.ts'

const place = { path: '/home/a/.kube/config', where: 'user "u" of config' }
const v1 = 'client.authentication.orch.io/v1'
const v1beta1 = 'client.authentication.orch.io/v1beta1'
const valid = { command: 'login', apiVersion: v1, interactiveMode: 'Never' }

function read(fields: object): ExecConfig {
  return parseExec({ ...valid, ...fields }, place)
}

void test('spec 5.5: `command` with a slash starts at the directory of the configuration, a name is looked up in PATH', () => {
  assert.equal(read({ command: 'login' }).command, 'login')
  assert.equal(read({ command: './login' }).command, '/home/a/.kube/login')
  assert.equal(read({ command: '../bin/login' }).command, '/home/a/bin/login')
  assert.equal(read({ command: '/usr/bin/login' }).command, '/usr/bin/login')
})

void test('spec 5.5: `apiVersion` is v1 or v1beta1, and its domain decides the names of variable and extension', () => {
  for (const domain of ['orch.io', 'k8s.io']) {
    for (const version of ['v1', 'v1beta1']) {
      const { apiVersion, names } = read({ apiVersion: `client.authentication.${domain}/${version}` })
      assert.equal(apiVersion, `client.authentication.${domain}/${version}`)
      assert.equal(names.extension, `client.authentication.${domain}/exec`)
      assert.equal(names.variable, domain === 'orch.io' ? 'ORCH_EXEC_INFO' : 'KUBERNETES_EXEC_INFO')
    }
  }
})

void test('spec 5.5: the other fields are optional', () => {
  const { args, env, installHint, provideClusterInfo } = read({ args: null, env: null })
  assert.deepEqual([args, env, installHint, provideClusterInfo], [[], [], '', false])
  const full = read({
    args: ['--now'],
    env: [{ name: 'A', value: 'b=c' }, { name: 'EMPTY' }],
    installHint: 'apt install login\n',
    provideClusterInfo: true,
  })
  assert.deepEqual(full.args, ['--now'])
  assert.deepEqual(full.env, [
    { name: 'A', value: 'b=c' },
    { name: 'EMPTY', value: '' },
  ])
  assert.deepEqual([full.installHint, full.provideClusterInfo], ['apt install login', true])
})

void test('spec 5.5: `interactiveMode` is required in v1 and IfAvailable by default in v1beta1', () => {
  for (const mode of ['Never', 'IfAvailable', 'Always']) {
    assert.equal(read({ interactiveMode: mode }).interactiveMode, mode)
    assert.equal(read({ interactiveMode: mode, apiVersion: v1beta1 }).interactiveMode, mode)
  }
  for (const unset of [undefined, null, '']) {
    assert.equal(read({ interactiveMode: unset, apiVersion: v1beta1 }).interactiveMode, 'IfAvailable')
    assert.throws(() => read({ interactiveMode: unset }), /interactiveMode is required by .*\/v1: Never/)
  }
})

void test('an invalid section is refused with the user and the field', () => {
  const table: readonly (readonly [unknown, RegExp])[] = [
    ['login', /exec must have command and apiVersion$/],
    [{ ...valid, command: '' }, /exec needs command$/],
    [{ ...valid, command: 7 }, /exec needs command$/],
    [
      { ...valid, apiVersion: undefined },
      /exec\.apiVersion must be one of client\.authentication\.orch\.io\/v1,/,
    ],
    [{ ...valid, apiVersion: 'client.authentication.k8s.io/v1alpha1' }, /exec\.apiVersion must be one of/],
    [{ ...valid, interactiveMode: 'Sometimes' }, /must be Never, IfAvailable or Always$/],
    [{ ...valid, args: [1] }, /exec\.args must be a list of strings$/],
    [{ ...valid, env: {} }, /exec\.env must be a list of name and value$/],
    [{ ...valid, env: [{ value: 'b' }] }, /each entry of exec\.env needs a name/],
    [{ ...valid, env: [{ name: 'A=B', value: 'b' }] }, /each entry of exec\.env needs a name/],
    [{ ...valid, env: [{ name: 'A', value: 1 }] }, /each entry of exec\.env needs a name/],
    [{ ...valid, installHint: 1 }, /exec\.installHint must be a string$/],
    [{ ...valid, provideClusterInfo: 'yes' }, /exec\.provideClusterInfo must be true or false$/],
  ]
  for (const [section, words] of table) {
    assert.throws(
      () => parseExec(section, place),
      (cause) =>
        cause instanceof CredentialError &&
        cause.code === 'malformed' &&
        cause.message.startsWith('user "u" of config: ') &&
        words.test(cause.message),
      JSON.stringify(section),
    )
  }
})
