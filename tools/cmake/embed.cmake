# Writes the files of the page as C arrays, so that the library carries them.
# usage: cmake -DOUT=parts.c "-DFILES=a.html|b.js" -P embed.cmake
string(REPLACE "|" ";" files "${FILES}")
set(arrays "")
set(table "")
set(i 0)
foreach(file ${files})
    get_filename_component(name ${file} NAME)
    file(READ ${file} bytes HEX)
    # Forty bytes a line keep the file readable for tools that dislike endless lines.
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
    string(REPEAT "....." 40 line)
    string(REGEX REPLACE "(${line})" "\\1\n" bytes "${bytes}")
    string(APPEND arrays "static const unsigned char part_${i}[] = {\n${bytes}0x00};\n")
    string(APPEND table "    {\"${name}\", part_${i}, sizeof part_${i} - 1},\n")
    math(EXPR i "${i} + 1")
endforeach()
file(WRITE ${OUT} "/* Made from src/report/web/ by tools/cmake/embed.cmake. */\n#include \"report/parts.h\"\n\n"
                  "${arrays}\nconst web_part ti_web_parts[] = {\n${table}    {0, 0, 0},\n};\n")
