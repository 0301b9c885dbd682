/*
 * Puts each program, with all that it loads, into a few files: dist/bundle has the shape of dist/, without what no program
 * loads. Finding, reading and compiling a thousand modules one by one is most of a start, and a fifth of an empty
 * server's memory. What dist/ itself holds stays: it is what tests look into.
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

/** Those that are started, and those that they start or load by address. */
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

/** They find native code beside themselves; fastify would load the others for what no route here has. */
const left = [
  'level',
  'msgpackr',
  '@fastify/ajv-compiler',
  '@fastify/fast-json-stringify-compiler',
  'light-my-request',
]

/** A module's own address stays what it was, in whichever file it lies now. */
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

/** What modules expect to be there that the files they are in now do not have by themselves. */
function headOf(path, text) {
  const up = `${relative(dirname(path), target) || '.'}/`
  const lines = []
  if (/\brequire\b/.test(text)) {
    lines.push("import { createRequire as bundledRequire } from 'node:module'")
    lines.push('const require = bundledRequire(import.meta.url)')
  }
  if (/\b__dirname\b/.test(text)) lines.push("const __dirname = new URL('.', import.meta.url).pathname")
  if (text.includes('bundledAddress(')) {
    // The query is that of whoever loaded this file, as the hook of `orchctl chaos` reads it.
    lines.push(`const bundledAddress = (file) =>`)
    lines.push(
      `  new URL(${JSON.stringify(up)} + file + new URL(import.meta.url).search, import.meta.url).href`,
    )
  }
  return lines.map((line) => `${line}\n`).join('')
}

/** Errors are reported by the names of their classes, which the bundler must not change. */
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

/** The server's program and its threads load nothing of the tools: neither their code nor a file that holds some. */
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
 * Returns the licenses of all packages that are in the bundle, as these require of copies. Users do not install these
 * packages.
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
  // What begins with `#!` is a command: npm links to it, and a new build must not take that right away.
  const mode = start > 0 ? 0o755 : 0o644
  writeFileSync(path, text.slice(0, start) + headOf(path, text) + text.slice(start), { mode })
}
writeFileSync(join(target, 'THIRD-PARTY-LICENSES.txt'), licensesOf(Object.keys(metafile.inputs)))
const info = join(dist, 'src/build-info.json')
if (existsSync(info)) copyFileSync(info, join(target, 'src/build-info.json'))
