/*
 * Bundles each program with the modules that it loads into a few files. A program has the same path
 * below dist/bundle as below dist/. Without the bundle, finding, reading and compiling 1,800 modules
 * one by one takes half of the start time, and a fifth of the memory of an empty server. The build
 * also stores the compiled form (V8's code cache) of the functions that a start of the server or of
 * orchctl runs: see record-compiled.js. dist/ itself is kept for the tests.
 *
 *   node bundle.js [dist]
 */
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { Script } from 'node:vm'
import { build } from 'esbuild'
import { recordCompiled } from './record-compiled.js'

const dist = resolve(process.argv[2] ?? 'dist')
const target = join(dist, 'bundle')

/** The programs that users start. */
const commands = ['src/main.js', 'src/cli/main.js']

/** Programs that become one script each, which runs from a code cache: commands, server threads. */
const started = [...commands, 'raft/threads/log-thread.js', 'raft/threads/raft-thread.js']

/** Modules that these programs load by URL. They become scripts, too. */
const loadedByUrl = ['src/host/thread-host.js', 'src/store/is-command.js']

const scripts = [...started, ...loadedByUrl]

/** The module that runs the scripts. */
const runner = 'src/host/cached-script.js'

/** Other programs. */
const programs = [
  'tools/chaos/hook.js',
  'bench/tool/generator/worker.js',
  'bench/run.js',
  'bench/goals.js',
  'bench/growth.js',
  'bench/starts.js',
  'bench/timeline.js',
  'bench/timeline-marks.js',
]

/**
 * Packages that are not bundled. The first loads native code next to its own files. Fastify loads
 * the others only for features that no route uses.
 */
const unbundled = [
  'level',
  '@fastify/ajv-compiler',
  '@fastify/fast-json-stringify-compiler',
  'light-my-request',
]

/**
 * Packages of which another file is bundled than Node would load. msgpackr for Node loads a native
 * decoder of strings: that takes most of its load time, in each thread, and decodes the messages of
 * this program no faster.
 */
const replaced = { msgpackr: resolve('node_modules/msgpackr/index.js') }

/** Gives each module the `import.meta.url` that it would have as its own file in dist/bundle. */
const ownAddresses = {
  name: 'own-addresses',
  setup(bundling) {
    bundling.onLoad({ filter: /\.js$/ }, ({ path }) => {
      if (!path.startsWith(`${dist}/`)) return undefined
      const text = readFileSync(path, 'utf8')
      if (!text.includes('import.meta.url')) return undefined
      const address = `bundledAddress(${JSON.stringify(relative(dist, path))})`
      return { contents: text.replaceAll('import.meta.url', address), loader: 'js' }
    })
  },
}

/**
 * Changes each `import()` with a computed address into a call of the function that
 * `runCachedScript` passes to a script.
 */
const computedImports = {
  name: 'computed-imports',
  setup(bundling) {
    bundling.onLoad({ filter: /thread-host\.js$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8')
      return { contents: text.replace(/\bimport\((?=__rewrite)/g, 'bundledImport('), loader: 'js' }
    })
  },
}

/**
 * Returns the declaration of `bundledAddress` for a file.
 *
 * @param own the expression that is the URL of the file in its own code
 */
function addressesOf(path, own) {
  const up = `${relative(dirname(path), target) || '.'}/`
  // Keeps the query that this file was loaded with: the hook of `orchctl chaos` reads it.
  return [
    `const bundledAddress = (file) =>`,
    `  new URL(${JSON.stringify(up)} + file + new URL(${own}).search, ${own}).href`,
  ]
}

/** Returns the declarations that bundled modules need at the beginning of their file. */
function headOf(path, text) {
  const lines = []
  if (/\brequire\b/.test(text)) {
    lines.push("import { createRequire as bundledRequire } from 'node:module'")
    lines.push('const require = bundledRequire(import.meta.url)')
  }
  if (/\b__dirname\b/.test(text)) lines.push("const __dirname = new URL('.', import.meta.url).pathname")
  if (text.includes('bundledAddress(')) lines.push(...addressesOf(path, 'import.meta.url'))
  return lines.map((line) => `${line}\n`).join('')
}

/**
 * Returns a script as `runCachedScript` runs it: one function, in ASCII. The bundler leaves other
 * characters in regular expressions, where an escape means the same.
 */
function scriptOf(path, text) {
  const ascii = text.replace(/[\u0080-\uffff]/g, escaped)
  return [
    '(function (require, module, __dirname, bundledUrl, bundledImport) {',
    "'use strict'",
    ...addressesOf(path, 'bundledUrl'),
    ascii.replace(/^#!.*\n/, ''),
    '})',
    '',
  ].join('\n')
}

function escaped(character) {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/**
 * Returns the text of the module that users or the server start: it runs the script next to it. It
 * is a CommonJS module, because loading Node's loader of ES modules would take 10 ms of each thread.
 */
function starterOf(path) {
  const address = relative(dirname(path), join(target, runner))
  return [
    '#!/usr/bin/env node',
    "'use strict'",
    `const { runCachedScript } = require(${JSON.stringify(address.startsWith('.') ? address : `./${address}`)})`,
    "runCachedScript(__filename.replace(/js$/, 'cjs'))",
    '',
  ].join('\n')
}

/** Checks that the bundler kept the names of error classes: stack traces and logs show them. */
function checkNames(inputs, outputs) {
  const kept = outputs.map(({ text }) => text).join('\n')
  for (const input of inputs.filter((path) => !path.includes('node_modules'))) {
    for (const [, name] of readFileSync(input, 'utf8').matchAll(
      /^(?:export )?class (\w+) extends \w*Error\b/gm,
    )) {
      const isKept = new RegExp(`\\b(?:${name} = class|class ${name}) extends`).test(kept)
      if (!isKept) throw new Error(`the bundler gave the class ${name} of ${input} another name`)
    }
  }
}

/**
 * Checks that the server and its threads load no file that contains code of orchctl, the tools,
 * benchmarks or tests.
 */
function checkServer(outputs) {
  const server = scripts.filter((script) => !script.startsWith('src/cli/'))
  const loaded = new Set()
  const load = (output) => {
    if (loaded.has(output)) return
    loaded.add(output)
    for (const { path, external } of outputs[output].imports) if (!external) load(path)
  }
  const outputOf = (program) => relative('.', join(target, program))
  for (const script of server) load(outputOf(script.replace(/js$/, 'cjs')))
  for (const output of loaded) {
    for (const input of Object.keys(outputs[output].inputs)) {
      const module = relative(dist, resolve(input))
      if (/^(tools|bench|test|fixtures|src\/cli)\//.test(module)) {
        throw new Error(`the server loads ${module}, in ${output}`)
      }
    }
  }
}

/**
 * Returns the licenses of all packages that are in the bundle, as the licenses require for copies.
 * Users do not install these packages.
 */
function licensesOf(inputs) {
  const directories = new Set()
  for (const input of inputs) {
    const [directory] = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input) ?? []
    if (directory !== undefined) directories.add(directory)
  }
  const texts = [...directories].sort().map((directory) => {
    const { name, version, license } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'))
    const file = readdirSync(directory).find((entry) => /^(licen[cs]e|copying)/i.test(entry))
    if (file === undefined && license === undefined) throw new Error(`${directory} names no license`)
    const text = file === undefined ? `${license}\n` : readFileSync(join(directory, file), 'utf8')
    return `== ${name} ${version} (${license ?? 'see below'})\n\n${text.trim()}\n`
  })
  return texts.join('\n')
}

/**
 * Returns by path the code caches of the last build that are still valid: the text of the script
 * and the version of the engine are the same.
 */
function compiledBefore(outputs) {
  const found = new Map()
  for (const { path, text } of outputs) {
    const old = `${path}.compiled`
    if (!existsSync(old) || !existsSync(path)) continue
    if (readFileSync(path, 'latin1') !== scriptOf(path, text)) continue
    const cachedData = readFileSync(old)
    const { cachedDataRejected } = new Script(scriptOf(path, text), { cachedData })
    if (cachedDataRejected === false) found.set(old, cachedData)
  }
  return found
}

function write(path, content, mode = 0o644) {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content, { mode })
}

const common = {
  bundle: true,
  platform: 'node',
  target: 'node20',
  external: unbundled,
  alias: replaced,
  plugins: [ownAddresses],
  metafile: true,
  write: false,
  logLevel: 'warning',
  outbase: dist,
  outdir: target,
}
const modules = await build({
  ...common,
  entryPoints: programs.map((program) => join(dist, program)),
  chunkNames: 'chunks/[name]-[hash]',
  splitting: true,
  format: 'esm',
})
const bundledScripts = await build({
  ...common,
  entryPoints: scripts.map((program) => join(dist, program)),
  plugins: [computedImports, ownAddresses],
  outExtension: { '.js': '.cjs' },
  charset: 'ascii',
  format: 'cjs',
})
const bundledRunner = await build({ ...common, entryPoints: [join(dist, runner)], format: 'cjs' })
const inputs = Object.keys({ ...modules.metafile.inputs, ...bundledScripts.metafile.inputs })
checkNames(inputs, [...modules.outputFiles, ...bundledScripts.outputFiles])
checkServer({ ...modules.metafile.outputs, ...bundledScripts.metafile.outputs })
const compiled = compiledBefore(bundledScripts.outputFiles)
rmSync(target, { recursive: true, force: true })
for (const { path, text } of modules.outputFiles) write(path, headOf(path, text) + text)
for (const { path, text } of bundledScripts.outputFiles) {
  write(path, scriptOf(path, text))
  const starter = path.replace(/cjs$/, 'js')
  if (loadedByUrl.some((module) => join(target, module) === starter)) continue
  // npm links to the commands, so they must stay executable.
  const isCommand = commands.some((command) => join(target, command) === starter)
  write(starter, starterOf(path), isCommand ? 0o755 : 0o644)
}
for (const { path, text } of bundledRunner.outputFiles) write(path, text)
// The starters and what they load are CommonJS modules.
for (const directory of ['src', 'raft'])
  write(join(target, directory, 'package.json'), '{"type":"commonjs"}\n')
write(join(target, 'THIRD-PARTY-LICENSES.txt'), licensesOf(inputs))
const info = join(dist, 'src/build-info.json')
if (existsSync(info)) copyFileSync(info, join(target, 'src/build-info.json'))
for (const [path, data] of compiled) write(path, data)
if (compiled.size < scripts.length) {
  const servers = scripts.filter((script) => !script.startsWith('src/cli/'))
  await recordCompiled(
    target,
    servers.map((script) => script.replace(/js$/, 'cjs')),
  )
}
