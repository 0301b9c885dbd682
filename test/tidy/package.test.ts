/*
 * Goal: the statements of package.json are true.
 * Method: it is read and compared.
 */
import assert from 'node:assert/strict'
import { isBuiltin } from 'node:module'
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs'
import { join, normalize } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Script } from 'node:vm'
import { flagNames } from '../../src/config/load.ts'
import { programVersion } from '../../src/version.ts'

const root = normalize(join(fileURLToPath(new URL('.', import.meta.url)), '../../..'))

type Manifest = {
  readonly version: string
  readonly bin: Readonly<Record<string, string>>
  readonly dependencies: Readonly<Record<string, string>>
  readonly overrides: Readonly<Record<string, string>>
  readonly devDependencies: Readonly<Record<string, string>>
}

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest

void test('the program prints the version of its package', () => {
  assert.equal(programVersion, manifest.version)
})

void test('every flag of the server is used', () => {
  const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !path.endsWith('flags.ts') && !path.startsWith('cli'))
    .map((path) => readFileSync(join(root, 'src', path), 'utf8'))
    .join('\n')
  const unread = flagNames.filter(
    (name) => !sources.includes(`'${name}'`) && !sources.includes(`config.${name}`),
  )
  assert.deepEqual(unread, [])
})

void test('both commands exist once built', () => {
  assert.deepEqual(Object.keys(manifest.bin), ['orch-apiserver', 'orchctl'])
  for (const file of Object.values(manifest.bin)) {
    assert.ok(existsSync(join(root, file)), file)
    assert.equal(
      statSync(join(root, file)).mode & 0o111,
      0o111,
      `${file} is executable, also after another build`,
    )
  }
})

void test('both commands are shipped with compiled code that this engine accepts', () => {
  for (const file of Object.values(manifest.bin)) {
    const path = join(root, file.replace(/js$/, 'cjs'))
    const cachedData = readFileSync(`${path}.compiled`)
    const script = new Script(readFileSync(path, 'latin1'), { cachedData })
    assert.equal(script.cachedDataRejected, false, path)
  }
})

/** Required by fastify for validation, serialization and injection, which no route here has. */
const neverLoaded = ['@fastify/ajv-compiler', '@fastify/fast-json-stringify-compiler', 'light-my-request']

void test('users install exactly the packages that the bundle leaves out and loads', () => {
  const bundle = join(root, 'dist/bundle')
  const imported = readdirSync(bundle, { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.c?js$/.test(path))
    .flatMap((path) => [
      ...readFileSync(join(bundle, path), 'utf8').matchAll(
        /(?:\bfrom |\bimport |\bimport\(|require\()["']((?:@[a-z-]+\/)?[a-z][a-z-]*)["']/g,
      ),
    ])
    .map(([, name = '']) => name)
    .filter((name) => !isBuiltin(name))
  assert.deepEqual(
    [...new Set(imported)].sort(),
    [...neverLoaded, ...Object.keys(manifest.dependencies)].sort(),
  )
})

void test('the bundle holds the license of every package that the sources import into it', () => {
  const licenses = readFileSync(join(root, 'dist/bundle/THIRD-PARTY-LICENSES.txt'), 'utf8')
  const named = [...licenses.matchAll(/^== (\S+) \S+ \(.+\)\n\n\S/gm)].map(([, name = '']) => name)
  const imported = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .flatMap((path) => [
      ...readFileSync(join(root, 'src', path), 'utf8').matchAll(
        /^import [^'\n]*'((?:@[a-z-]+\/)?[a-z][\w.-]*)(?:\/[^']*)?'/gm,
      ),
    ])
    .map(([line = '', name = '']) => ({ name, isType: line.startsWith('import type ') }))
    .filter(({ name, isType }) => !isType && !isBuiltin(name) && !(name in manifest.dependencies))
    .map(({ name }) => name)
  assert.ok(imported.includes('fastify'), 'imports were found')
  const missing = imported.filter((name) => !named.includes(name))
  assert.deepEqual(missing, [])
})

void test('only a version that users do not install is overridden, as overrides do not reach them', () => {
  const overridden = Object.keys(manifest.overrides)
  // For light-my-request: version 2 does not run on the oldest supported Node.js.
  assert.deepEqual(overridden, ['cookie'])
})

void test('dependencies are exact, and the lockfile names no download location', () => {
  const { dependencies, devDependencies } = manifest
  for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies })) {
    assert.match(version, /^(npm:[a-z]+@)?\d+\.\d+\.\d+$/, name)
  }
  assert.doesNotMatch(readFileSync(join(root, 'package-lock.json'), 'utf8'), /"resolved"/)
})

void test('make help names every variable that a target uses', () => {
  const own = new Set(['MAKE', 'MAKEFILE_LIST', 'NODE_BIN', 'ORCHCTL'])
  const makefile = readFileSync(join(root, 'Makefile'), 'utf8')
  for (const [, target = '', help = '', recipe = ''] of makefile.matchAll(
    /^([a-z-]+):.* ## (.*)\n((?:[\t ].*\n)*)/gm,
  )) {
    for (const [, name = ''] of recipe.matchAll(/\$\((?:if \$\(|or \$\()?([A-Z_]+)\)/g)) {
      if (!own.has(name)) assert.match(help, new RegExp(`\\b${name}=`), `${target}: ${name}`)
    }
  }
})
