/*
 * Bundles each program with the modules that it loads into a few files. dist/bundle has the layout
 * of dist/, without modules that no program loads. Finding, reading and compiling a thousand
 * modules one by one takes half of the start time, and a fifth of the memory of an empty server.
 * dist/ itself is kept for the tests.
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
import { build } from 'esbuild'

const dist = resolve(process.argv[2] ?? 'dist')
const target = join(dist, 'bundle')

/** The programs that are started, and the files that they start or load by URL. */
const programs = [
  'src/main.js',
  'src/cli/main.js',
  'src/host/thread-host.js',
  'src/store/is-command.js',
  'tools/chaos/hook.js',
  'bench/tool/generator/worker.js',
  'bench/run.js',
  'bench/growth.js',
  'bench/starts.js',
  'raft/threads/log-thread.js',
  'raft/threads/raft-thread.js',
]

/**
 * Packages that are not bundled. The first two load native code next to their own files. Fastify
 * loads the others only for features that no route uses.
 */
const left = [
  'level',
  'msgpackr',
  '@fastify/ajv-compiler',
  '@fastify/fast-json-stringify-compiler',
  'light-my-request',
]

/** Keeps the `import.meta.url` of each module as before bundling. */
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

/** Returns the declarations that bundled modules need at the beginning of their file. */
function headOf(path, text) {
  const up = `${relative(dirname(path), target) || '.'}/`
  const lines = []
  if (/\brequire\b/.test(text)) {
    lines.push("import { createRequire as bundledRequire } from 'node:module'")
    lines.push('const require = bundledRequire(import.meta.url)')
  }
  if (/\b__dirname\b/.test(text)) lines.push("const __dirname = new URL('.', import.meta.url).pathname")
  if (text.includes('bundledAddress(')) {
    // Keeps the query that this file was loaded with: the hook of `orchctl chaos` reads it.
    lines.push(`const bundledAddress = (file) =>`)
    lines.push(
      `  new URL(${JSON.stringify(up)} + file + new URL(import.meta.url).search, import.meta.url).href`,
    )
  }
  return lines.map((line) => `${line}\n`).join('')
}

/** Checks that the bundler kept the names of error classes, which are reported. */
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

/** Checks that the server and its threads load no file that contains code of the tools. */
function checkServer(outputs) {
  const server = ['src/main.js', 'src/host/thread-host.js', 'src/store/is-command.js']
  const threads = ['raft/threads/log-thread.js', 'raft/threads/raft-thread.js']
  const loaded = new Set()
  const load = (output) => {
    if (loaded.has(output)) return
    loaded.add(output)
    for (const { path, external } of outputs[output].imports) if (!external) load(path)
  }
  const outputOf = (program) => relative('.', join(target, program))
  for (const program of [...server, ...threads]) load(outputOf(program))
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

const { outputFiles, metafile } = await build({
  entryPoints: programs.map((program) => join(dist, program)),
  outbase: dist,
  outdir: target,
  chunkNames: 'chunks/[name]-[hash]',
  bundle: true,
  splitting: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  external: left,
  plugins: [ownAddresses],
  metafile: true,
  write: false,
  logLevel: 'warning',
})
checkNames(Object.keys(metafile.inputs), outputFiles)
checkServer(metafile.outputs)
rmSync(target, { recursive: true, force: true })
for (const { path, text } of outputFiles) {
  const start = text.startsWith('#!') ? text.indexOf('\n') + 1 : 0
  mkdirSync(dirname(path), { recursive: true })
  // A file that begins with `#!` is a command: npm links to it, so it must stay executable.
  const mode = start > 0 ? 0o755 : 0o644
  writeFileSync(path, text.slice(0, start) + headOf(path, text) + text.slice(start), { mode })
}
writeFileSync(join(target, 'THIRD-PARTY-LICENSES.txt'), licensesOf(Object.keys(metafile.inputs)))
const info = join(dist, 'src/build-info.json')
if (existsSync(info)) copyFileSync(info, join(target, 'src/build-info.json'))
