// Syntax highlighting: a line as pieces of text, each with a class.

const set = (words) => new Set(words.split(" "));
const LANGUAGES = {
  rise: {
    words: /\/\/.*|\/\*.*?\*\/|"(?:\\.|[^"\\])*"|\d[\w.]*|[A-Za-z_]\w*/g,
    comment: /^\/[/*]/,
    keywords: set("fun depFun def let if then else true false"),
    patterns: new Set(DATA.patterns),
    types: /^(?:f16|bf16|f32|f64|i1|i8|i16|i32|i64|u8|u16|u32|u64|index|idx|nat|data)$/,
  },
  python: {
    words: /#.*|[rbf]?"(?:\\.|[^"\\])*"|[rbf]?'(?:\\.|[^'\\])*'|@[\w.]+|\d[\w.]*|[A-Za-z_]\w*/g,
    comment: /^#/,
    keywords: set("def return lambda import from as class for while if else elif in is not and or with None True False assert raise try except pass yield"),
    types: /^(?:f16|bf16|f32|f64|i1|i8|i16|i32|i64|u8|u16|u32|u64|index|Array)$/,
    symbol: /^@/,
  },
  mlir: {
    words: /\/\/.*|"(?:\\.|[^"\\])*"|%[\w#$.-]+|@[\w$.]+|[!#][A-Za-z][\w.]*|\^\w+|-?\d[\w.+-]*|[A-Za-z_][\w$.]*/g,
    comment: /^\/\//,
    keywords: set("to step iter_args attributes loc max min module func true false dense private"),
    types: /^(?:f16|bf16|f32|f64|i1|i8|i16|i32|i64|u8|u16|u32|u64|index|memref|vector|tensor|![\w.]*)$/,
    value: /^%/,
    symbol: /^[@#^]/,
    pattern: /^[a-z_]\w*\.[\w.]+$/i,
  },
  llvm: {
    words: /;.*|c?"(?:\\.|[^"\\])*"|%[\w.$"-]+|@[\w.$"-]+|[!#]\w+|-?\d[\w.+-]*|[A-Za-z_.][\w.]*/g,
    comment: /^;/,
    keywords: set("define declare ret br label phi switch to attributes internal private constant global align inbounds nuw nsw nneg noalias noundef nonnull readonly writeonly captures none tail call dead_on_return poison undef zeroinitializer splat exact fast contract disjoint volatile unnamed_addr local_unnamed_addr noinline memory argmem read write"),
    types: /^(?:i\d+|float|double|half|bfloat|ptr|void|x)$/,
    value: /^%/,
    symbol: /^[@!#]/,
    pattern: /^(?:load|store|fmul|fadd|fsub|fdiv|add|sub|mul|sdiv|udiv|srem|urem|shl|lshr|ashr|and|or|xor|icmp|fcmp|select|getelementptr|insertvalue|extractvalue|insertelement|extractelement|shufflevector|alloca|bitcast|sext|zext|trunc|fpext|fptrunc|sitofp|uitofp|fptosi|fptoui|fneg|freeze)$/,
  },
  asm: {
    words: /\/\/.*|# .*|"[^"]*"|^[.\w$]+:|^\s+\.\w+|^\s+[a-z][\w.]*|#?-?0x[0-9a-f]+|[#$]?-?\d+|%?[a-zA-Z_.][\w.$]*/g,
    comment: /^(?:\/\/|# )/,
    keywords: new Set(),
    types: /^(?:%?(?:[wxvqdshbr]\d+|[re]?[abcd]x|[re]?[sd]i|[re]?[sb]p|[xyz]mm\d+|r\d+d?|xzr|wzr|sp|k\d)(?:\.\w+)?)$/,
    symbol: /^[.\w$]+:$|^\.L\w+/,
    quiet: /^\s+\./,
    pattern: /^\s+[a-z]/,
  },
  c: {
    words: /\/\/.*|\/\*.*?\*\/|^\s*#\s*\w+.*|"(?:\\.|[^"\\])*"|\d[\w.]*|[A-Za-z_]\w*/g,
    comment: /^\/[/*]/,
    keywords: set("for while if else return static const restrict void int long short unsigned signed float double char sizeof struct"),
    types: /^(?:float|double|int|long|unsigned|char|size_t|void)$/,
    symbol: /^\s*#/,
  },
};
LANGUAGES.stablehlo = LANGUAGES.mlir;

function classOf(word, language) {
  if (language.comment.test(word)) return "tc";
  if (/^c?[rbf]?["']/.test(word)) return "ts";
  if (language.quiet?.test(word)) return "tc";
  if (language.types.test(word)) return "tt";
  if (language.symbol?.test(word)) return "ty";
  if (language.value?.test(word)) return "tv";
  if (language.keywords.has(word)) return "tk";
  if (language.patterns?.has(word) || language.pattern?.test(word)) return "tp";
  if (/^[#$]?-?\d/.test(word)) return "tn";
  return null;
}

// [[from, to, class], ...] in order, without overlap.
function highlight(text, name) {
  const language = LANGUAGES[name];
  const found = [];
  if (!language || text.length > 2000) return found;
  for (const match of text.matchAll(language.words)) {
    const kind = classOf(match[0], language);
    if (kind) {
      const lead = match[0].length - match[0].trimStart().length;
      found.push([match.index + lead, match.index + match[0].length, kind]);
    }
  }
  return found;
}
